package import RosterModel

/// What is said of each sort of trouble, here and in rosterctl(1). A word in braces stands for what is concerned.
extension Trouble.Kind {
  /// What it means, in sentences; then what to do about it, each a step that an operator can take.
  package var text: (meaning: String, todo: String) {
    switch self {
    case .connection, .dns, .tls, .timeout, .truncated, .noNetwork, .certificate, .pin, .proxy: wayText
    case .serverError, .rateLimit, .held, .forbidden, .notFound, .badRequest, .otherStatus, .redirect, .malformed,
      .tooLarge, .budget:
      answerText
    case .drift, .circle, .foreignLink, .guarded, .unstorable, .rejects, .unasked, .absent: recordText
    case .noCredential, .credential, .outlived, .session, .incomplete, .tokenMalformed, .tokenStatus, .freshRefused,
      .loggedOut, .tokenUnreachable, .missingCredential:
      credentialText
    case .tokenStore, .diskFull, .disk, .unwritable, .locked, .damaged, .foreignFile, .owned, .pinned: fileText
    case .configuration, .refusedConfiguration, .silent, .defect, .cancelled, .usage, .noDaemon: programText
    }
  }

  /// Whether what the failed part itself says can be done comes first: it knows the file, the key or the time.
  var takesHint: Bool {
    switch self {
    case .certificate, .pin, .proxy, .held, .redirect, .unasked, .credential, .outlived, .session, .incomplete,
      .loggedOut, .missingCredential, .tokenStore, .diskFull, .unwritable, .foreignFile:
      true
    default: false
    }
  }

  private var wayText: (meaning: String, todo: String) {
    switch self {
    case .dns:
      (
        "The name of upstream's host cannot be resolved.",
        "Check the host in upstream.base_url, then this machine's resolver: getent hosts {host}"
      )
    case .tls:
      (
        "TLS was broken off before a certificate could be judged.",
        "See what answers there: openssl s_client -connect {server}. rosterd needs TLS 1.2 or later; a port that speaks plain HTTP looks like this too."
      )
    case .timeout:
      (
        "Upstream gave no whole answer within upstream.timeout.",
        "Measure it by hand: time curl -o /dev/null {address}. Where upstream is slow and not down, raise upstream.timeout or lower sync.concurrency."
      )
    case .truncated:
      (
        "Answers end before they are complete.",
        "Look at what stands between rosterd and upstream: a proxy, a load balancer, its limits of time and size. Lower sync.concurrency if it is overloaded."
      )
    case .noNetwork:
      (
        "This machine has no network, or no route to upstream.",
        "Look at it: ip route; ip -br link. rosterd tries again by itself and needs no restart."
      )
    case .certificate:
      (
        "Upstream's certificate is not trusted, so nothing was sent to it.",
        "Look at what it sends: openssl s_client -showcerts -connect {server}. Do not go on without verification: whoever answers there may not be upstream."
      )
    case .pin:
      (
        "Upstream's key is none of upstream.tls.pins, so nothing was sent to it: its key was changed, or somebody else answers.",
        "Ask who runs upstream, in another way than this one, whether the key is theirs; then add it to upstream.tls.pins and reload rosterd."
      )
    case .proxy:
      (
        "The proxy on the way to upstream does not let the request through.",
        "Check upstream.proxy, and HTTPS_PROXY, HTTP_PROXY and NO_PROXY in rosterd's environment."
      )
    default:
      (
        "No connection to upstream came about, or it ended before an answer.",
        "Try it from this machine: curl -i {address}. Look for a service that is down, a firewall, a wrong host or port in upstream.base_url."
      )
    }
  }

  private var answerText: (meaning: String, todo: String) {
    switch self {
    case .rateLimit:
      (
        "Upstream's rate limit is reached.",
        "Once, nothing: rosterd keeps to the time that upstream names. If it recurs, raise sync.interval, or set limit.rate or limit.budget to what upstream permits; rosterd check tells the requests of a day."
      )
    case .held:
      (
        "Upstream has asked for no request before a certain time, and rosterd keeps to that, over restarts too.",
        "Wait: the next sync starts by itself once that time has come."
      )
    case .forbidden:
      (
        "Upstream does not allow this to who asks.",
        "Give the account of rosterd's credential the right to read {address}, or use one that has it. Some servers refuse an unknown User-Agent (upstream.headers). If a 403 means that the session is over, set auth.logout_status = [403]."
      )
    case .notFound:
      (
        "Nothing is at that address.",
        "Compare {address} with the API's documentation: first upstream.base_url, then path of [resource.{resource}]. If it means past the end of the list, name the status in beyond of its pages."
      )
    case .badRequest:
      (
        "Upstream refuses the request as it is.",
        "Read what upstream says to it: curl -i {address}. Then correct query, body, pages or headers of [resource.{resource}]."
      )
    case .otherStatus:
      (
        "Upstream answered with a status that brings no page.",
        "Read the answer: curl -i {address}. Then see whether upstream.base_url is the API's."
      )
    case .redirect:
      (
        "Upstream leads away from its own address, where rosterd does not follow: a token must not go along.",
        "See where it leads: curl -sI {address}. A new upstream.base_url needs a restart of rosterd."
      )
    case .malformed:
      (
        "Upstream answered with something that is no page as the definition of {resource} has it.",
        "Read the answer: curl {address}. If it is a page of HTML, upstream.base_url leads elsewhere or a login is in the way; if the API has changed, correct [resource.{resource}] (rosterd infer proposes one)."
      )
    case .tooLarge:
      (
        "An answer is larger than 8 MiB, and rosterd reads no larger one.",
        "Ask for smaller pages: size of [resource.{resource}.pages], or a parameter in its query that leaves fields out."
      )
    case .budget:
      (
        "The requests that limit.budget permits are used up.",
        "Nothing: what was pulled is kept, and rosterd goes on once the budget has room. If that is too late, raise limit.budget, or raise sync.interval to what rosterd check proposes."
      )
    default:
      (
        "Upstream answers with an error of its own.",
        "Ask who runs upstream, or wait: rosterd tries again by itself. To see it: curl -i {address}"
      )
    }
  }

  private var recordText: (meaning: String, todo: String) {
    switch self {
    case .circle:
      (
        "The pages of {resource} lead in a circle: a list without an end.",
        "Check param and at of [resource.{resource}.pages]: an upstream that does not know the parameter answers with the same page again and again. If they are right, tell who runs upstream."
      )
    case .foreignLink:
      (
        "A page leads to another origin than upstream.base_url, where a token must not go.",
        "Set upstream.base_url to where the API is, and restart rosterd. Behind a mirror or proxy set upstream.links = \"rebase\"."
      )
    case .guarded:
      (
        "Upstream lists far fewer records of {resource} than before, more than max_removal lets go. rosterd takes that for a fault of upstream's until somebody says otherwise, and all of them stay.",
        "See who would go: rosterctl pending. If that is right: rosterctl sync --allow-removal (without a daemon: rosterd sync --allow-removal). If not, find out why the list is short: another account, a filter, a changed path. The next sync looks again."
      )
    case .unstorable:
      (
        "No record of {resource} can be stored: its definition seems to be of another API.",
        "Compare the columns of [resource.{resource}] with an answer; rosterd infer proposes a definition."
      )
    case .rejects:
      (
        "Some records cannot be stored as they are. The last good version of each stays, and all others are published.",
        "See all of them with their reasons: rosterctl rejects. Have them mended upstream, or give the column the type that they have; the next sync takes them."
      )
    case .unasked:
      (
        "Upstream lists some records no more, and not all of them could be asked for one by one, so that no {resource} was removed.",
        "Try by_key of [resource.{resource}] by hand. The next sync asks again."
      )
    case .absent:
      (
        "Upstream listed some records no more the last time. They stay until the definition's removal lets them go.",
        "Nothing, if they are gone upstream. If they are not, find out why its list lacks them."
      )
    default:
      (
        "The list of {resource} changed each time while it was pulled, so that records might have been lost or counted twice.",
        "Wait for the next sync. If it lasts, its pages have no stable order: add a parameter that sorts to the query of [resource.{resource}], or sync when upstream is quiet."
      )
    }
  }

  private var credentialText: (meaning: String, todo: String) {
    switch self {
    case .noCredential:
      (
        "Upstream wants to know who asks, and rosterd has been told nothing to say.",
        "Set auth.flow, put the credential that it reads into auth.credentials_dir (rosterd.toml(5) names the file), then reload rosterd."
      )
    case .outlived:
      (
        "The access token has expired, and a token of auth.flow = \"static\" is not renewed.",
        "A flow that refreshes would renew it by itself."
      )
    case .session:
      (
        "The session is over. No request is made before a credential file changes.",
        "Get the new credential from upstream as you got the first one. If another program uses the same refresh token, it may have used it up: each needs its own."
      )
    case .incomplete:
      (
        "The token endpoint granted a token without all that auth.flow needs, and the session is over.",
        "See whether auth.flow is the one that {address} speaks."
      )
    case .tokenMalformed:
      (
        "The token endpoint answered with what is no JSON. The refresh token may be used up by that.",
        "See what answers at {address}: a proxy, a page to log in. If the next sync is refused, put a new credential in its place and reload rosterd."
      )
    case .tokenStatus:
      (
        "The token endpoint neither granted nor refused a token.",
        "See whether auth.token_url is right: {address}. The session goes on with the next sync."
      )
    case .freshRefused:
      (
        "Upstream refuses an access token that was granted a moment ago.",
        "See whether upstream.base_url and auth.token_url belong together, what auth.scope allows, and whether auth.send names the place that upstream reads the token from."
      )
    case .loggedOut:
      (
        "A page was answered with a status that auth.logout_status names: the session is over.",
        "If that status has another meaning too at this upstream, take it out of auth.logout_status and reload rosterd."
      )
    case .tokenUnreachable:
      (
        "No new access token could be had, and no page is asked for without one.",
        "See whether the token endpoint is up: curl -i {address}. rosterd tries again by itself."
      )
    case .missingCredential:
      (
        "A credential that auth.flow needs is not there, or is not of use.",
        "See that rosterd's user may read it: ls -l {file}"
      )
    default:
      (
        "Upstream refuses the credential that rosterd sends.",
        "If it is right, see whether auth.send names the place that upstream reads it from."
      )
    }
  }

  private var fileText: (meaning: String, todo: String) {
    switch self {
    case .tokenStore:
      (
        "The token store cannot be read or written, and a token that cannot be kept is not used.",
        "Look at it: ls -l {file}; df {file}. The next sync stores the token before anything else."
      )
    case .diskFull:
      (
        "The disk is full. What readers see is whole.",
        "See how full it is: df -h {file}. rosterd tries again by itself and needs no restart."
      )
    case .disk:
      (
        "The disk fails.",
        "Look at the kernel's log and the disk: dmesg; smartctl. Copy the file away while it can be read: {file}"
      )
    case .unwritable:
      (
        "rosterd may not write where it has to.",
        "See whose it is: ls -ld {file}. File and folder belong to rosterd's user; in a systemd unit another place than StateDirectory= needs ReadWritePaths=."
      )
    case .locked:
      (
        "Another program holds the write lock of the cache.",
        "Find it: fuser -v {file}. Have it end its transaction, and read with sqlite3 -readonly."
      )
    case .damaged:
      (
        "The cache was damaged. rosterd moves it aside and pulls all anew.",
        "Look at the kernel's log and the disk: dmesg; smartctl. The damaged copy is beside {file}."
      )
    case .foreignFile:
      (
        "The file in the place of the cache was made by another program or a newer rosterd, and is not touched.",
        "See what it is: file {file}"
      )
    case .pinned:
      (
        "A reader keeps a transaction open, so that the cache's log cannot shrink. It costs space only.",
        "Find it and have it end its transaction: fuser -v {file}"
      )
    default:
      (
        "Another rosterd owns this cache or token store; two would overwrite each other.",
        "Ask that one for a sync: rosterctl sync. Or stop it; its pid is in {file}.lock."
      )
    }
  }

  private var programText: (meaning: String, todo: String) {
    switch self {
    case .configuration:
      (
        "The configuration cannot be used.",
        "Check it: rosterd check. Correct it, then reload rosterd."
      )
    case .refusedConfiguration:
      (
        "The configuration was read again and not taken: rosterd goes on with the one before.",
        "Correct {file}, check it with rosterd check, then systemctl reload rosterd."
      )
    case .silent:
      (
        "Nothing of the sync moves any more: a disk or a network file system may hang.",
        "Look at rosterd's log and the kernel's: journalctl -u rosterd; dmesg. systemd's watchdog restarts rosterd; by hand: systemctl restart rosterd."
      )
    case .cancelled:
      (
        "Somebody cancelled the sync, or stopped rosterd. What it pulled is kept for the next.",
        "Nothing; for a sync now: rosterctl sync"
      )
    case .usage:
      (
        "The command line is not understood.",
        "See rosterctl --help."
      )
    case .noDaemon:
      (
        "Where a timer or cron runs rosterd sync, that is as it should be.",
        "If a daemon should run: systemctl start rosterd. If it does not stay, journalctl -u rosterd says why. If it runs, --socket names another place."
      )
    default:
      (
        "This is a defect in rosterd.",
        "Report it, with the log of that time: journalctl -u rosterd. The next sync tries again."
      )
    }
  }
}

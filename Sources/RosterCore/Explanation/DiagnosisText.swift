extension Diagnosis.Kind {
  /// The meaning, in sentences; then the steps that an operator can take.
  package var text: (meaning: String, todo: String) {
    (lines.first ?? "", String((lines.last ?? "").trimmingPrefix(Self.hint)))
  }

  /// True if the failure's own hint comes first in the steps, because it names the file, the key or the time.
  var takesHint: Bool { lines.last?.hasPrefix(Self.hint) == true }

  private var lines: [String] {
    Self.texts.split(separator: "\n").drop { $0 != rawValue }.dropFirst().prefix(2).map(String.init)
  }

  private static let hint = "{hint} "

  /// Each kind has three lines: its name, the meaning, and the steps. rosterctl(1) has the same texts. A word in braces
  /// is replaced by the affected item, and `{hint}` by the failure's own hint.
  private static let texts = """
    connection
    Nothing has come from upstream: it is down, or something on the way does not let rosterd through.
    Try it from this machine: curl -i {request}. Look for a service that is down, a firewall, a wrong host or port in upstream.base_url.
    dns
    This machine's resolver does not know that host, or does not answer.
    Check the host in upstream.base_url, then the resolver: getent hosts {host}
    tls
    The server, or something on the way, ended the handshake before its certificate could be judged.
    See what answers there: openssl s_client -connect {server}. rosterd needs TLS 1.2 or later; a port that speaks plain HTTP looks like this too.
    timeout
    One attempt took longer than upstream.timeout permits.
    Measure it by hand: time curl -o /dev/null {request}. If upstream is slow and not down, raise upstream.timeout or lower sync.concurrency.
    truncated
    Answers end before they are complete, usually because of a proxy between rosterd and upstream.
    Look at proxies and load balancers on the way, and at their limits of time and size. Lower sync.concurrency if upstream is overloaded.
    noNetwork
    No route leads from this machine to upstream.
    Look at the network: ip route; ip -br link. rosterd tries again by itself and needs no restart.
    certificate
    Nothing was sent to it: the server there may not be upstream's.
    {hint} Look at what it sends: openssl s_client -showcerts -connect {server}
    pin
    Nothing was sent to it: upstream's key was changed, or another server answers.
    {hint} Ask who runs upstream, in another way than this one, whether the key is theirs; then add it to upstream.tls.pins and reload rosterd.
    clientCertificate
    The handshake ended because of the certificate that rosterd presents, or because it presents none. The session goes on.
    {hint} See when the certificate expires: rosterctl status --json. rosterd takes a new pair before the next sync.
    proxy
    The request did not get as far as upstream.
    {hint} Check upstream.proxy, and HTTPS_PROXY, HTTP_PROXY and NO_PROXY in rosterd's environment.
    serverError
    That is a fault of upstream's own, not of the request.
    Ask who runs upstream, or wait: rosterd tries again by itself. To see it: curl -i {request}
    rateLimit
    Upstream takes no more requests for now, and rosterd keeps to the time that it names.
    Once, nothing. If it recurs, raise sync.interval, or set limit.rate or limit.budget to what upstream permits; rosterd check shows the requests of a day.
    held
    rosterd keeps to the time that upstream asked for, over restarts too.
    {hint} Wait: the next sync starts by itself once that time has come.
    forbidden
    Upstream does not allow this request with rosterd's credential.
    Give the account of rosterd's credential the right to read {address}, or use one that has it. If the token carries the right, as a scope, ask for a new one: rosterctl sync --new-token. Some servers refuse an unknown User-Agent (upstream.headers). If upstream says that it limits the rate of requests, raise sync.interval, or set limit.rate. If this status means that the token has expired, set status = [403] in [auth.expired].
    notFound
    Nothing is at that address.
    Compare {address} with the API's documentation: first upstream.base_url, then path of [resource.{resource}]. If it means past the end of the list, name the status in beyond of its pages.
    notAcceptable
    Upstream has no answer of the types that the header Accept of the request names.
    Set Accept in upstream.headers to a type that upstream offers; its documentation names them. See what it answers: curl -i -H 'Accept: */*' {request}
    badRequest
    Upstream refuses this form of the request.
    Read what upstream says to it: curl -i {request}. Then correct query, body, pages or headers of [resource.{resource}]. If it says that the token has expired, name the status in status of [auth.expired].
    otherStatus
    Such an answer brings no page.
    Read it: curl -i {request}. Then see whether upstream.base_url is the API's.
    redirect
    rosterd does not follow there, because the token must not be sent to another origin.
    {hint} See where it leads: curl -sD - -o /dev/null {request}. If that is a page to log in, because the token has expired, name the status in status of [auth.expired]. A new upstream.base_url needs a restart of rosterd.
    malformed
    It is not what the definition of {resource} describes.
    {hint} Read the answer: curl {request}. If it says that the token has expired, name its mark in where of [auth.expired]. If upstream redirects to a page to log in then, name the status of the redirect in status of [auth.expired]. If it is a page of HTML, upstream.base_url leads elsewhere or a login is in the way; if the API has changed, correct [resource.{resource}] (rosterd infer proposes one).
    totalAbsent
    The definition of {resource} declares a total that the answer does not have.
    Read the answer: curl {request}. If the total is elsewhere, correct its place in [resource.{resource}.pages]. If upstream sends none, remove count or last there: the list then ends at an empty page, or where nothing leads on.
    tooLarge
    rosterd reads no answer larger than 8 MiB or of more than 100000 records.
    Ask for smaller pages: size of [resource.{resource}.pages], or a parameter in its query that leaves fields out.
    budget
    Upstream gets no more requests than limit.budget permits, restarts included.
    Nothing: what was pulled is kept, and rosterd goes on once the budget has room. If that is too late, raise limit.budget, or raise sync.interval to what rosterd check proposes.
    drift
    Records might have been lost or counted twice, so nothing was published.
    Wait for the next sync. If it lasts, read the numbers above: a parameter that sorts (query of [resource.{resource}]) helps if pages have no stable order. If its total is an estimate, remove count from [resource.{resource}.pages]. If upstream counts records that it does not list, set hidden = true there.
    circle
    The pages lead back to earlier pages, or do not end.
    Check param and at of [resource.{resource}.pages]: an upstream that does not know the parameter answers with the same page again and again. If an empty page ends the list, set empty = "end" there. If all is right, inform upstream's operator.
    expiredPage
    The page before it led there, and upstream does not know that cursor or address, or not any more.
    {hint} Read what upstream says: curl -i {request}
    ignoredParameter
    Every page has the same records, so nothing was published.
    Compare param of [resource.{resource}.pages] with the API's documentation: upstream knows the parameter by another name, or has another style of pages. If it has one page only, set style = "one".
    foreignLink
    rosterd asks no other origin than upstream.base_url: a token must not go there.
    Set upstream.base_url to where the API is, and restart rosterd. For a mirror or proxy set upstream.links = "rebase".
    unseenNext
    If the list has more pages, their records are missing.
    Compare at of [resource.{resource}.pages] with an answer: curl -i {request}. If the list has one page, set style = "one".
    fullPage
    If upstream has more records, they are missing.
    Set style and its keys in [resource.{resource}.pages] as the API's documentation describes its pages. If the list has one page, remove size there.
    shortPages
    If upstream counts the start of the next page from the size that it was asked for, records between the pages are missing.
    Set size of [resource.{resource}.pages] to the number of records that upstream sends on a page. The next sync shows whether records were missing.
    guarded
    rosterd takes that for a fault of upstream's until an operator confirms it: no record is removed, nothing was published.
    See which records would be removed: rosterctl pending. If that is right: rosterctl sync --allow-removal (without a daemon: rosterd sync --allow-removal). If not, find out why the list is short: another account, a filter, a changed path. The next sync looks again.
    unstorable
    No record of {resource} has what the definition asks for, so nothing was published.
    See the records and the reasons: rosterctl rejects. Then give each column of [resource.{resource}] the type that upstream sends (real for a number with a fraction); if the records are of another kind, correct its path and records, or see what rosterd infer proposes.
    rejects
    The last good version of each stays, and all others are published.
    See all of them with their reasons: rosterctl rejects. Have them corrected upstream, or give the column the type that they have. If a part of a key is empty, set null = [""] of its column. The next sync takes them.
    partialAnswer
    What was sent is published, and no {resource} is removed.
    See the answer and the line that accepts it: rosterctl rejects. As soon as upstream sends all records again, the next syncs remove what is gone.
    cutList
    The record is stored with the elements that upstream sent; the others are missing in the list's table.
    Pull the list as a child of {resource} (each), or ask for more elements in the request. If the first elements suffice, make the member that says so a column of [resource.{resource}].
    emptied
    The records are published without these values. If upstream has renamed a member, its values may be in the column extra.
    Compare the place with an answer, and correct columns or lists of [resource.{resource}]. The former values are in the history: rosterctl changes --resource {resource}. The next sync does not say this again.
    unasked
    Absent is not deleted: each {resource} without an answer stays.
    {hint} Try by_key of [resource.{resource}] by hand. The next sync asks again.
    wrongByKey
    rosterd asks by_key for a listed record before it removes those that by_key does not find. No {resource} was removed.
    Look at the answer: curl -i {request}. Then correct by_key of [resource.{resource}] and restart rosterd; the next sync asks again.
    unproven
    A wrong by_key would give the same answers. No {resource} was removed.
    See which records are concerned: rosterctl pending. If they are gone: rosterctl sync --allow-removal (without a daemon: rosterd sync --allow-removal). If not, correct by_key or path of [resource.{resource}].
    validators
    Upstream may call a changed page unchanged. rosterd transferred all pages of {resource} whole, and uses no validators for it from now on.
    Report it to the people who run upstream: the validator must change with the records, deletions included. After they have corrected it: rosterctl sync --fresh.
    absent
    They stay in the cache for as long as the definition's removal says.
    See them: rosterctl list {resource} --absent. If they are gone upstream, there is nothing to do; if not, find out why its list lacks them.
    missed
    The last whole pull found them. No incremental pull would have: their changes became visible too late for the overlap, or moved neither the time stamp nor a column of changed.
    Set a longer overlap or a shorter whole_every in [resource.{resource}.since].
    postponed
    Until then removed records stay, and records that incremental pulls miss are not found.
    Raise limit.budget above the requests of a whole pull (rosterd check prints them), or set a longer sync.interval or whole_every.
    ignoredSince
    The data are right, but each sync transfers more than it needs.
    Compare param and value of [resource.{resource}.since] with the API's documentation: upstream knows the parameter by another name, or expects another form of the time.
    listReset
    The same sync pulled the list whole, and lost nothing.
    Nothing, if it is rare. If it happens in each sync, compare param, value and zone of [resource.{resource}.since] with what upstream accepts, or set a shorter sync.interval: upstream forgets tokens sooner, or lists fewer changes, than the syncs need.
    missedLists
    The last whole pull found that. The records of these lists changed, and no column of changed did.
    Name more columns in changed of [resource.{resource}.each], or set a shorter whole_every there.
    failedLists
    Their records are unchanged. All other lists were published, and the next sync requests the failed ones again.
    Request the address by hand. If the status means that the list is empty, name it in no_records of [resource.{resource}].
    vanishedLists
    Upstream listed the parents, and did not know them any more when their lists were requested. Their records stay until the parents are removed.
    Wait for the next sync. If 404 means that a list is empty, set no_records = [404] in [resource.{resource}]. If all lists are answered so, check path: a slash in a value is sent as %2F, unless path begins with that value.
    noCredential
    rosterd has no credential to identify itself.
    {hint} Put the credential that the flow reads into auth.credentials_dir (rosterd.toml(5) names each flow and its files), then reload rosterd.
    credential
    Without a good one, upstream sends no page.
    {hint} If it is right, see whether auth.send names the place that upstream reads it from.
    outlived
    rosterd does not renew the token of auth.flow = "static".
    {hint} A flow that refreshes would renew it by itself.
    session
    No request is made before a credential file changes.
    {hint} Get the new credential from upstream as you got the first one. If another program uses the same refresh token, it may have used it up: each needs its own.
    incomplete
    The session goes on with the next sync. If the next token request is refused, the answer has used up the credential.
    {hint} See whether auth.flow is the flow of {address}.
    tokenMalformed
    Something else than the token endpoint seems to have answered. The session goes on with the next sync.
    See what answers at {address}: a proxy, a page to log in. If the next sync is refused, put a new credential in its place and reload rosterd.
    tokenStatus
    That neither grants nor refuses a token: the session goes on with the next sync.
    See whether auth.token_url is right: {address}
    freshRefused
    The pages and the token endpoint do not agree on who may read.
    See whether upstream.base_url and auth.token_url belong together, what auth.scope allows, whether auth.send names the place that upstream reads the token from, and whether auth.expired names only answers about the token.
    loggedOut
    That ends the session: no request is made before a credential file changes.
    {hint} If that status has another meaning too at this upstream, take it out of auth.logout_status and reload rosterd.
    tokenUnreachable
    No page is asked for without a token.
    See whether the token endpoint is up: curl -i {request}. rosterd tries again by itself.
    missingCredential
    auth.flow cannot do without it.
    {hint} See that it is there and not empty: ls -l {file}. Outside systemd rosterd's user must be able to read it.
    expiringSession
    A daemon renews the session between two syncs, and no daemon runs. After its end only a new credential begins another one.
    Run the daemon instead of rosterd sync: rosterd run. Or sync more often: the timer, and sync.interval, must be shorter than the life of the session.
    tokenStore
    A token that cannot be kept is not used.
    {hint} Look at it: ls -l {file}; df {file}. The next sync stores the token before anything else.
    diskFull
    Readers see complete data; nothing of this sync was published.
    {hint} See how full it is: df -h {file}. rosterd tries again by itself and needs no restart.
    disk
    Readers see complete data unless the disk is damaged.
    Look at the kernel's log and the disk: dmesg; smartctl. Copy the cache away while it can be read: {file}
    unwritable
    rosterd lacks the permission to write there.
    {hint} See whose it is: ls -ld {file}. File and folder belong to rosterd's user; in a systemd unit another place than StateDirectory= needs ReadWritePaths=.
    locked
    rosterd has waited for that program, and given up.
    Find it: fuser -v {file}. Have it end its transaction, and read with sqlite3 -readonly.
    damaged
    rosterd moves it aside and pulls everything again.
    Look at the kernel's log and the disk: dmesg; smartctl. The damaged copy is beside {file}.
    replaced
    Readers that open the path now see another file, or none; nothing of this sync was published there.
    {hint} See what is there: ls -l {file}
    foreignFile
    rosterd does not touch what another program or a newer rosterd made.
    {hint} See what it is: file {file}
    owned
    Two processes that write one cache or token store would overwrite each other's data.
    Ask that one for a sync: rosterctl sync. Or stop it; its pid is in {file}.lock.
    pinned
    It keeps a transaction open, so that the log cannot shrink. That costs space only.
    Find it and have it end its transaction: fuser -v {file}
    configuration
    rosterd cannot use it.
    Check it: rosterd check. Correct it, then reload rosterd.
    refusedConfiguration
    rosterd goes on with the configuration that it had.
    Correct {file}, look at the result with rosterd check --config {config}, then systemctl reload {unit}.
    silent
    A disk or a network file system may hang.
    Look at rosterd's log and the kernel's: journalctl -u {unit}; dmesg. systemd's watchdog restarts rosterd; by hand: systemctl restart {unit}.
    defect
    Something is wrong in rosterd itself.
    Report it, with the log of that time: journalctl -u {unit}. The next sync tries again.
    cancelled
    It was cancelled, or rosterd was stopped. Pulled pages are kept for the next sync.
    Nothing; for a sync now: rosterctl sync
    usage
    It is not understood.
    See rosterctl --help.
    noDaemon
    This is what the cache tells. If a timer or cron runs rosterd sync, that is normal.
    If a daemon should run: systemctl start {unit}. If it does not stay, journalctl -u {unit} says why. If it runs, --socket or --instance names another one.
    failedService
    No daemon runs; what follows is what the cache contains.
    {hint} Correct that, then systemctl restart {unit}. The log of the start: journalctl -u {unit}.
    """
}

# What `make install` and its like write, and where.

PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
# systemd also reads units from /usr/local/lib.
UNITDIR    ?= $(PREFIX)/lib/systemd/system
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR     ?= $(PREFIX)/share/doc/rosterd
# The pages of docs/ for users; the other pages are for developers and are not installed.
PAGES      := $(filter-out %/ARCHITECTURE.md %/RELEASING.md %/TESTING.md,$(sort $(wildcard docs/*.md)))
DOCUMENTS  := README.md $(PAGES) docs/page.png docs/page-dark.png config/grafana-dashboard.json \
              config/prometheus-rules.yml
EXAMPLES   := config/rosterd.toml $(wildcard systemd/examples/*)
# Adapts links to the installed folder, which has all pages in one place, and drops README's section for developers.
INSTALLED  := -e 's,](\(\.\./\)\?\(docs\|config\|systemd\)/,](\2/,g' -e 's,](docs/,](,g' \
              -e 's,](config/sources),](examples/sources),g' -e 's,](config/rosterd.toml),](examples/rosterd.toml),g' \
              -e 's,](config/,](,g' -e 's,](systemd/examples),](examples),g' -e 's,](\.\./README.md,](README.md,g' \
              -e '/^\#\# Developing$$/,$$d'
SOURCES    := $(wildcard config/sources/*.toml)
PROGRAMS   := rosterd rosterctl

.PHONY: install install-postgres install-documents uninstall

# Installs the programs of `make build`. It builds nothing, so it can run as root and without the compiler.
install: install-documents
	@for p in $(PROGRAMS); do test -x .build/release/$$p || { echo "make build first" >&2; exit 1; }; done
	install -d $(addprefix $(DESTDIR),$(BASHDIR) $(ZSHDIR) $(FISHDIR) $(UNITDIR))
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS:%=.build/release/%)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 man/rosterctl.1
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 man/rosterd.toml.5
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 man/rosterd.8
	for p in $(PROGRAMS); do program=.build/release/$$p; \
	  $$program --generate-completion-script bash | sed '1{/^#!/d}' > $(DESTDIR)$(BASHDIR)/$$p && \
	  $$program --generate-completion-script zsh > $(DESTDIR)$(ZSHDIR)/_$$p && \
	  $$program --generate-completion-script fish > $(DESTDIR)$(FISHDIR)/$$p.fish || exit 1; \
	done
	for u in systemd/*.service systemd/*.socket systemd/*.path; do \
	  sed 's|/usr/bin/ros|$(PREFIX)/bin/ros|' $$u > $(DESTDIR)$(UNITDIR)/$${u##*/} && \
	  chmod 644 $(DESTDIR)$(UNITDIR)/$${u##*/} || exit 1; \
	done
	install -D -m 644 systemd/rosterd.sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/rosterd.conf
	install -D -m 644 systemd/rosterd.tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/rosterd.conf
# The first configuration has no keys. The package's postinst makes a copy, and dpkg never touches that.
	install -D -m 644 config/stub.toml $(DESTDIR)$(PREFIX)/share/rosterd/rosterd.toml
# The configuration may contain a secret header. Without the group rosterd, only root can read it.
	install -d $(DESTDIR)$(SYSCONFDIR)/rosterd
	file=$(SYSCONFDIR)/rosterd/rosterd.toml; test -n "$(DESTDIR)" -o -e $$file || { \
	  install -m 640 config/stub.toml $$file && \
	  if getent group rosterd >/dev/null; then chgrp rosterd $$file; fi; }

# Installs the program of `make build-postgres`, its unit and its manual page.
install-postgres:
	@test -x .build/release/rosterd-postgres || { echo "make build-postgres first" >&2; exit 1; }
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin .build/release/rosterd-postgres
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 man/rosterd-postgres.8
	install -D -m 644 systemd/postgres/rosterd-postgres@.service $(DESTDIR)$(UNITDIR)/rosterd-postgres@.service
	sed -i 's|/usr/bin/ros|$(PREFIX)/bin/ros|' $(DESTDIR)$(UNITDIR)/rosterd-postgres@.service
	install -d $(addprefix $(DESTDIR),$(BASHDIR) $(ZSHDIR) $(FISHDIR))
	program=.build/release/rosterd-postgres; \
	  $$program --generate-completion-script bash | sed '1{/^#!/d}' > $(DESTDIR)$(BASHDIR)/rosterd-postgres && \
	  $$program --generate-completion-script zsh > $(DESTDIR)$(ZSHDIR)/_rosterd-postgres && \
	  $$program --generate-completion-script fish > $(DESTDIR)$(FISHDIR)/rosterd-postgres.fish

# Installs the pages for users and the examples.
install-documents:
	install -D -m 644 -t $(DESTDIR)$(DOCDIR) $(DOCUMENTS)
	sed -i $(INSTALLED) $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(filter %.md,$(DOCUMENTS))))
	install -d $(DESTDIR)$(DOCDIR)/examples
	for e in $(EXAMPLES); do \
	  sed 's|/usr/bin/ros|$(PREFIX)/bin/ros|' $$e > $(DESTDIR)$(DOCDIR)/examples/$${e##*/} && \
	  chmod 644 $(DESTDIR)$(DOCDIR)/examples/$${e##*/} || exit 1; \
	done
	install -D -m 644 -t $(DESTDIR)$(DOCDIR)/examples/sources $(SOURCES)

# Removes the files of `make install`. The configuration and the cache remain.
uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/%) $(DESTDIR)$(PREFIX)/share/man/man1/rosterctl.1 \
	  $(DESTDIR)$(PREFIX)/share/man/man5/rosterd.toml.5 $(DESTDIR)$(PREFIX)/share/man/man8/rosterd.8 \
	  $(PROGRAMS:%=$(DESTDIR)$(BASHDIR)/%) $(PROGRAMS:%=$(DESTDIR)$(ZSHDIR)/_%) \
	  $(PROGRAMS:%=$(DESTDIR)$(FISHDIR)/%.fish) $(DESTDIR)$(PREFIX)/lib/*.d/rosterd.conf \
	  $(DESTDIR)$(PREFIX)/share/rosterd/rosterd.toml \
	  $(patsubst systemd/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard systemd/*.service systemd/*.socket systemd/*.path)) \
	  $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(DOCUMENTS)) $(addprefix examples/,$(notdir $(EXAMPLES))) \
	  $(addprefix examples/sources/,$(notdir $(SOURCES))))

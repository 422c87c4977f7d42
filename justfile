# The same commands that .ci/run runs; each works without `just` as `python3 dev.py NAME`.

default:
    @just --list

# Run the agent program
agent *arguments:
    python3 dev.py agent {{arguments}}

# Run the fast tests; `all` for every test; other arguments go to pytest
test *arguments:
    python3 dev.py test {{arguments}}

# Check what test runs with SKILLKIT_COVERAGE=1 covered together
coverage:
    python3 dev.py coverage

# Lint, format, types, import rules
check:
    python3 dev.py check

# Let ruff mend what it can
fix:
    python3 dev.py fix

# Run every validation command of the requirements through the real program
validate *arguments:
    python3 dev.py validate {{arguments}}

# Throw broken headers at the parser
fuzz seconds="60":
    python3 dev.py fuzz {{seconds}}

# Take every SKILL.md of a folder through all that is done with one
corpus folder:
    python3 dev.py corpus {{folder}}

# Run the core tests of a checkout of skillkit 0.4.0 against this package
upstream folder:
    python3 dev.py upstream {{folder}}

# Run the conformance suite with the lowest or newest versions, or with heavy peers
columns kind *names:
    python3 dev.py columns {{kind}} {{names}}

# Print a benchmark's tables
bench name *arguments:
    python3 dev.py bench {{name}} {{arguments}}

# Build the documentation site into site/
docs *arguments:
    python3 dev.py docs {{arguments}}

# Count the scripts of real skills that answer --help, before and after their packages are accepted
scripts *arguments:
    python3 dev.py scripts {{arguments}}

# Draw the pictures of the documentation from the program and the benchmarks
pictures *arguments:
    python3 dev.py pictures {{arguments}}

# Write the list of commands and the numbers into the pages
reference:
    python3 dev.py reference

# Write the installed versions into constraints.txt
pin:
    python3 dev.py pin

# Install the system packages that the tests use (Debian, as root)
system:
    python3 dev.py system

# Everything CI does
ci:
    bash .ci/run

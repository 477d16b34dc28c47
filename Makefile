# Each target sets up what it needs in .venv/ (tools/environment.py); docs/developing.md tells more.
NEWEST_LTS := 5.2.3
VERSIONS := 4.2.23,4.5.15,5.0.1,5.2.3,5.3.0
PYTHON := .venv/$(NEWEST_LTS)/bin/python
ARGS :=  # more for the tests, as in: make test ARGS="tests/blender/test_bake.py -k slots"

.PHONY: bench demo sheets test test-all test-gui fuzz lint extension clean environment

demo: extension  ## run the sample scenes through the installed extension
	rm -rf build/demo_user && mkdir -p build/demo_user
	BLENDER_USER_RESOURCES=$(CURDIR)/build/demo_user $(PYTHON) sample_scenes/demo.py

bench: extension  ## what the work costs against what it is compared with (docs/performance.md); ARGS="plan bake" picks rows
	$(PYTHON) benchmarks/run.py $(ARGS)

sheets: environment  ## docs/contact_sheets: the worst moments of the motions of ../shared, before and after
	$(PYTHON) tools/contact_sheets.py $(ARGS)

test: environment  ## the newest LTS
	$(PYTHON) tools/run_tests.py $(NEWEST_LTS) $(ARGS)

test-all: environment  ## every supported Blender
	$(PYTHON) tools/run_tests.py $(VERSIONS) $(ARGS)

test-gui: environment  ## a real Blender window: the one that $$BLENDER names, or ../shared/tools/real-blender
	$(PYTHON) tools/run_gui.py $(ARGS)

fuzz: environment  ## 1,000 random rigs, clips and grounds; one again: make fuzz ARGS="--seed 137 --cases 1"
	$(PYTHON) tools/fuzz.py $(NEWEST_LTS) $(ARGS)

lint: environment
	$(PYTHON) -m ruff check .; ruff=$$?; $(PYTHON) -m pyright && exit $$ruff

extension: environment  ## dist/foot_ik-VERSION.zip
	$(PYTHON) tools/build_extension.py

environment:
	@python3 tools/environment.py $(NEWEST_LTS) >/dev/null

clean:  ## all that these targets make, except the environments
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis

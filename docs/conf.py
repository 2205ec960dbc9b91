"""The configuration of Sphinx. The pages are built, and can be read, without a network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(HERE / "_ext"), str(ROOT / "src")]
# The template of a plugin is here, for the pages that list kinds, wherever the build is started.
os.environ["TRIGEMU_PLUGIN_PATH"] = str(ROOT / "plugins")
# The kernels of notebooks import trigemu from where the build does.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])

import trigemu  # noqa: E402

project = "trigemu"
author = "The trigemu developers"
copyright = author  # the name that Sphinx reads
version = release = trigemu.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "repository_file",
    "api_reference",
]
exclude_patterns = ["_build", "_ext"]
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 420
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # those of the package are loaded from a network

suppress_warnings = ["ref.python"]  # several attributes are called `path`, as a type in docstrings is
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say the types
autodoc_class_signature = "separated"
napoleon_google_docstring = False
napoleon_use_ivar = True
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_title = "trigemu"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["trigemu.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
}

"""Which package on the index has a module: only what is known for sure, or what a skill itself says."""

import re
import tomllib
from collections.abc import Iterator, Mapping

_KNOWN = {
    "absl": "absl-py",
    "apiclient": "google-api-python-client",
    "attr": "attrs",
    "Bio": "biopython",
    "bs4": "beautifulsoup4",
    "cairosvg": "CairoSVG",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "ebooklib": "EbookLib",
    "exifread": "ExifRead",
    "faiss": "faiss-cpu",
    "ffmpeg": "ffmpeg-python",
    "fitz": "PyMuPDF",
    "frontmatter": "python-frontmatter",
    "git": "GitPython",
    "github": "PyGithub",
    "gitlab": "python-gitlab",
    "google.adk": "google-adk",
    "google.ads": "google-ads",
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.genai": "google-genai",
    "google.generativeai": "google-generativeai",
    "google.oauth2": "google-auth",
    "google.protobuf": "protobuf",
    "googleapiclient": "google-api-python-client",
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "grpc_tools": "grpcio-tools",
    "igraph": "python-igraph",
    "IPython": "ipython",
    "jks": "pyjks",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "magic": "python-magic",
    "markdown": "Markdown",
    "markdown_it": "markdown-it-py",
    "mpl_toolkits": "matplotlib",
    "MySQLdb": "mysqlclient",
    "nacl": "PyNaCl",
    "newspaper": "newspaper3k",
    "OpenSSL": "pyOpenSSL",
    "opentelemetry": "opentelemetry-api",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pyaudio": "PyAudio",
    "pyautogui": "PyAutoGUI",
    "pylab": "matplotlib",
    "pymupdf": "PyMuPDF",
    "readability": "readability-lxml",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "skbio": "scikit-bio",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snowflake.connector": "snowflake-connector-python",
    "socks": "PySocks",
    "speech_recognition": "SpeechRecognition",
    "tavily": "tavily-python",
    "telegram": "python-telegram-bot",
    "umap": "umap-learn",
    "usb": "pyusb",
    "vertexai": "google-cloud-aiplatform",
    "websocket": "websocket-client",
    "whisper": "openai-whisper",
    "win32com": "pywin32",
    "wx": "wxPython",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""Where the name of a package is not the name of its module; only these are sure."""
_SAME_NAME = frozenset(
    "aiofiles aiohttp altair anthropic anyio arrow astropy beautifulsoup4 black bokeh boto3 botocore "
    "certifi chardet chromadb click colorama cryptography dashscope dask ddgs deepdiff django docker "
    "duckdb duckduckgo_search elevenlabs fastapi feedparser flask fsspec google_auth_oauthlib "
    "googlemaps gradio graphviz h5py html2text httpie httpx huggingface_hub hypothesis icalendar ics "
    "imageio imap_tools InquirerPy jieba jinja2 joblib jsonschema keras kubernetes langchain ldap3 "
    "Levenshtein librosa litellm llama_index loguru lxml mammoth markdownify matplotlib matplotlib_venn "
    "mcp mdit_py_plugins mistralai mistune moviepy msgpack mss mutagen nbformat networkx nltk numba "
    "numpy openai openpyxl orjson pandas paramiko pdf2image pdfplumber pikepdf pillow playwright plotly "
    "polars prometheus_client prompt_toolkit psutil psycopg pyarrow pydantic pydantic_ai "
    "pydantic_settings pydub pygments pymongo pymupdf4llm pymysql pynput pyodbc pypdf PyPDF2 pyperclip "
    "pytesseract pytest pytz pyzbar qrcode questionary rapidfuzz rdkit redis regex replicate reportlab "
    "requests rich scipy scrapy screeninfo seaborn selenium sentence_transformers sentry_sdk shapely "
    "simplejson slack_sdk soundfile spacy sqlalchemy sqlparse sse_starlette starlette statsmodels "
    "streamlit stripe svgwrite sympy tabulate tenacity tensorflow tiktoken tomli tomli_w tomlkit torch "
    "torchvision tqdm trafilatura transformers tree_sitter trio twilio typer ujson unidiff urllib3 "
    "uvicorn uvloop vobject watchdog weasyprint websockets werkzeug wordcloud xarray xlrd xlsxwriter "
    "xmltodict youtube_transcript_api yt_dlp zstandard".split()
)
"""Modules whose package has the same name, and no other project has a claim to it."""
NAMESPACES = frozenset({"google", "azure"})
"""Modules that many packages share: only what is imported below them tells which one."""
_UNCERTAIN = frozenset({"app", "common", "config", "constants", "core", "helpers", "lib", "main", "models"})
"""Modules that authors keep to themselves and others have put on the index."""
_CLOUD = re.compile(r"google\.cloud\.([a-z0-9]+(?:_[a-z]{3,})*)")
_CLOUD_NAMES = {
    "artifactregistry": "artifact-registry",
    "dialogflowcx": "dialogflow-cx",
    "iam-admin": "iam",
    "osconfig": "os-config",
    "resourcemanager": "resource-manager",
    "secretmanager": "secret-manager",
}
"""Packages of google.cloud whose name is not that of the module."""
_AZURE_FAMILIES = frozenset("ai communication data keyvault mgmt monitor search storage".split())
"""Parts of azure that hold a package for each name beneath them."""
_INSTALLS = re.compile(r"(?:pip3?|uv pip|uv|pipx|poetry)[ \t]+(?:install|add)[ \t]+([^\n`|;&#\"'(){}<]*)")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._-]*\])?(?:(?:[=<>!~]=|[<>])[A-Za-z0-9.*,=<>!~]+)?"
)
_FLAG_WITH_VALUE = frozenset({"-r", "-c", "-e", "-i", "--index-url", "--extra-index-url", "--target", "-t"})


def known_distribution(module: str) -> str | None:
    """Return the package that surely has `module`, a dotted name."""
    if (cloud := _CLOUD.match(module)) is not None:
        name = cloud[1].replace("_", "-")
        return f"google-cloud-{_CLOUD_NAMES.get(name, name)}"
    parts = module.split(".")
    if parts[0] == "azure" and len(parts) > 1:
        length = 3 if parts[1] in _AZURE_FAMILIES else 2
        return "-".join(parts[:length]).replace("_", "-") if len(parts) >= length else None
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    known = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    if known is None and parts[0] in _SAME_NAME:
        return parts[0].replace("_", "-")
    return known


def is_guessable(module: str) -> bool:
    """Whether a package of the same name is worth proposing."""
    return module not in NAMESPACES and module not in _UNCERTAIN


def stated_requirements(files: Mapping[str, bytes]) -> dict[str, tuple[str, str]]:
    """Requirements that a skill's own texts name, by normalised name: as written, and in which file."""
    stated: dict[str, tuple[str, str]] = {}
    for path in sorted(files, key=_weight):
        if not path.lower().endswith((".md", ".txt", ".toml", ".py")):
            continue
        text = files[path][: 1 << 20].decode("utf-8", "replace")
        for requirement in _in_file(path, text):
            stated.setdefault(normalised(requirement), (requirement, path))
    return stated


def find_stated(module: str, stated: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return the stated requirement that has `module`, and where it is stated."""
    top = module.partition(".")[0]
    plain = normalised(top)
    names = [normalised(known_distribution(module) or top), plain]
    names += [f"python-{plain}", f"py{plain}", f"{plain}-python", f"{plain}-py", f"py-{plain}"]
    if top in NAMESPACES:
        dotted = module.split(".")
        names += [normalised("-".join(dotted[:length])) for length in range(len(dotted), 1, -1)]
    if (found := next((stated[name] for name in names if name in stated), None)) is not None:
        return found
    if top in NAMESPACES or known_distribution(module) is not None:
        return None
    alike = [name for name in stated if plain in name.split("-")]
    return stated[alike[0]] if len(alike) == 1 else None


def normalised(requirement: str) -> str:
    """Return the name of a requirement as indexes compare it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def _weight(path: str) -> tuple[int, int, str]:
    name = path.rpartition("/")[2].lower()
    order = 0 if name.startswith("requirements") else 1 if name == "pyproject.toml" else 2
    order += name.endswith(".py")
    return order, path.count("/"), path


def _in_file(path: str, text: str) -> Iterator[str]:
    name = path.rpartition("/")[2].lower()
    if name.startswith("requirements") and name.endswith(".txt"):
        for line in text.splitlines():
            if (found := _REQUIREMENT.fullmatch(line.partition("#")[0].replace(" ", ""))) is not None:
                yield found[0]
    elif name == "pyproject.toml":
        yield from _in_project(text)
    elif name.endswith((".md", ".py")):
        for command in _INSTALLS.finditer(text):
            yield from _in_command(command[1])


def _in_project(text: str) -> Iterator[str]:
    if len(text) > 1 << 16 or any(len(line) > 2000 for line in text.splitlines()):
        return
    try:
        project = tomllib.loads(text).get("project", {})
    except (ValueError, RecursionError):
        return
    listed = project.get("dependencies", []) if isinstance(project, dict) else []
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, str) and (found := _REQUIREMENT.fullmatch(item.replace(" ", ""))) is not None:
            yield found[0]


def _in_command(words: str) -> Iterator[str]:
    skip = False
    for word in words.split():
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _FLAG_WITH_VALUE
        elif (found := _REQUIREMENT.fullmatch(word.rstrip(".,"))) is not None:
            yield found[0]
        else:
            return

# Makes a POST with requests, which comes back after Retry-After, and prints the status.
#
#   comeback.py URL
import json, sys
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

retry = Retry(total=5, status_forcelist=[429, 503], respect_retry_after_header=True, allowed_methods=None,
              backoff_factor=0, raise_on_status=False)
with requests.Session() as session:
    session.mount("http://", HTTPAdapter(max_retries=retry))
    response = session.post(sys.argv[1], json={"text": "hello"}, timeout=30)
    print(json.dumps({"code": str(response.status_code)}))

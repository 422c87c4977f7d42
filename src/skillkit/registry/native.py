"""The dialect of `agent skill publish`: a whole archive in one request."""

from starlette.responses import Response

from skillkit.core.limits import DOWNLOAD_BYTES
from skillkit.registry.exceptions import RejectedError
from skillkit.registry.publishing import publication_data
from skillkit.registry.server import Ask, Endpoint, json_answer


def _publish(ask: Ask) -> Response:
    caller = ask.known()
    try:
        found = ask.server.publisher.publish_archive(
            caller,
            ask.path["owner"],
            ask.body,
            skill=ask.query.get("skill", ""),
            version=ask.query.get("version", ""),
            changelog=ask.query.get("changelog", ""),
        )
    except RejectedError as error:
        return json_answer({"state": "refused", "reasons": list(error.reasons)}, error.status)
    return json_answer(publication_data(ask.registry, caller, found), 200 if found.existed else 201)


ENDPOINTS = (Endpoint("/api/skillkit/v1/{owner}", _publish, "POST", DOWNLOAD_BYTES, "uploads"),)

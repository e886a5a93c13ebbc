"""Uses the identity endpoint with keystoneauth1, and prints the result of each step as one JSON object."""

import datetime
import json
import sys

from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3


def main():
    wishes = json.load(sys.stdin)
    json.dump(drive(wishes), sys.stdout)


def drive(wishes):
    scope = (
        {"project_name": wishes["project"], "project_domain_name": wishes["account"]}
        if wishes.get("project")
        else {"domain_name": wishes["account"]}
    )
    plugin = v3.Password(
        wishes["auth_url"],
        username=wishes["user"],
        user_domain_name=wishes["account"],
        password=wishes["password"],
        **scope,
    )
    client = session.Session(auth=plugin, timeout=30, verify=wishes.get("authority") or True)
    try:
        access = plugin.get_access(client)
    except exceptions.HttpError as error:
        return {"refused": error.http_status, "message": error.message}

    first = access.auth_token
    result = {
        "user": access.username,
        "user_id": access.user_id,
        "account": access.user_domain_name,
        "project": access.project_name,
        "domain": access.domain_name,
        "roles": access.role_names,
        "lifetime": (access.expires - datetime.datetime.now(datetime.timezone.utc)).total_seconds(),
        "expires_soon": access.will_expire_soon(),
        "kept": plugin.get_access(client).auth_token == first,
        "endpoints": [
            client.get_endpoint(service_type="identity", interface=interface, version=(3,))
            for interface in ("public", "internal", "admin")
        ],
    }

    # The session renews a token that expires in less than two minutes.
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=100)
    access._data["token"]["expires_at"] = soon.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    second = plugin.get_access(client).auth_token
    result["renewed"] = second != first

    plugin.invalidate()
    third = plugin.get_access(client).auth_token
    result["invalidated"] = third not in (first, second)

    # After its token is revoked, the session is refused once, logs in again and repeats the request.
    tokens = f"{wishes['auth_url']}/auth/tokens"
    result["revoked"] = client.delete(tokens, headers={"X-Subject-Token": third}).status_code
    result["catalog"] = client.get(f"{wishes['auth_url']}/auth/catalog").status_code
    result["logged_in_again"] = plugin.get_access(client).auth_token != third
    garbage = client.get(tokens, headers={"X-Subject-Token": "garbage"}, raise_exc=False)
    result["garbage"] = garbage.status_code
    return result


main()

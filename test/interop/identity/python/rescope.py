"""Logs in without a scope, lists the scopes, exchanges the token for each, and prints the results as JSON."""

import json
import sys

from keystoneauth1 import session
from keystoneauth1.identity import v3


def main():
    json.dump(drive(json.load(sys.stdin)), sys.stdout)


def drive(wishes):
    url = wishes["auth_url"]
    login = v3.Password(
        url,
        username=wishes["user"],
        user_domain_name=wishes["account"],
        password=wishes["password"],
        unscoped=True,
    )
    client = session.Session(auth=login, timeout=30)
    unscoped = login.get_access(client)
    result = {
        "unscoped": {
            "scoped": unscoped.scoped,
            "roles": unscoped.role_names,
            "catalog": unscoped.has_service_catalog(),
        },
        "projects": [each["name"] for each in client.get(f"{url}/auth/projects").json()["projects"]],
        "domains": [each["name"] for each in client.get(f"{url}/auth/domains").json()["domains"]],
    }
    scopes = [
        *({"project_name": name, "project_domain_name": wishes["account"]} for name in result["projects"]),
        *({"domain_name": name} for name in result["domains"]),
    ]
    exchanged = [v3.Token(url, unscoped.auth_token, **scope).get_access(client) for scope in scopes]
    result["rescoped"] = [each.project_name or each.domain_name for each in exchanged]
    result["roles"] = sorted({role for each in exchanged for role in each.role_names})
    result["same_expiry"] = all(each.expires == unscoped.expires for each in exchanged)
    result["methods"] = exchanged[0]._data["token"]["methods"]

    def delete(token):
        client.delete(f"{url}/auth/tokens", headers={"X-Subject-Token": token})

    # Another login asks, because a session whose own token is revoked logs in again.
    observer = session.Session(auth=v3.Password(
        url,
        username=wishes["user"],
        user_domain_name=wishes["account"],
        password=wishes["password"],
        domain_name=wishes["account"],
    ))

    def status(token):
        answer = observer.get(f"{url}/auth/tokens", headers={"X-Subject-Token": token}, raise_exc=False)
        return answer.status_code

    delete(exchanged[0].auth_token)
    result["after_revoking_one"] = status(exchanged[1].auth_token)
    delete(unscoped.auth_token)
    result["after_revoking_all"] = status(exchanged[1].auth_token)
    return result


main()

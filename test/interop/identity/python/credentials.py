"""Makes, uses and deletes application credentials with openstacksdk, and prints the results as JSON."""

import json
import sys

import openstack
from keystoneauth1.exceptions import http
from openstack import exceptions


def connect(wishes, **auth):
    return openstack.connect(
        auth_url=wishes["auth_url"], load_envvars=False, load_yaml_config=False, region_name="RegionOne", **auth
    )


def refused(call):
    try:
        call()
    except exceptions.HttpException as error:
        return error.status_code
    except http.HttpError as error:
        return error.http_status
    return None


def main():
    wishes = json.load(sys.stdin)
    holder = connect(
        wishes,
        username=wishes["user"],
        user_domain_name=wishes["account"],
        password=wishes["password"],
        project_name=wishes["project"],
        project_domain_name=wishes["account"],
    )
    user = holder.current_user_id
    made = holder.identity.create_application_credential(user, "nightly", description="of a job")
    program = connect(
        wishes,
        auth_type="v3applicationcredential",
        application_credential_id=made.id,
        application_credential_secret=made.secret,
    )
    result = {
        "secret": len(made.secret),
        "listed": [each.name for each in holder.identity.application_credentials(user)],
        "found": holder.identity.find_application_credential(user, "nightly").id == made.id,
        "same_user": program.current_user_id == user,
        "same_project": program.current_project_id == holder.current_project_id,
        "roles": [each["name"] for each in made.roles],
        "by_name": connect(
            wishes,
            auth_type="v3applicationcredential",
            application_credential_name="nightly",
            application_credential_secret=made.secret,
            username=wishes["user"],
            user_domain_name=wishes["account"],
        ).current_user_id == user,
        "more": refused(lambda: program.identity.create_application_credential(user, "more")),
        "rules": refused(lambda: holder.identity.create_application_credential(
            user, "ruled", access_rules=[{"path": "/v2.1/servers", "method": "GET", "service": "compute"}]
        )),
        "again": refused(lambda: holder.identity.create_application_credential(user, "nightly")),
        "own_project": holder.identity.find_project(wishes["project"]).id == holder.current_project_id,
        "regions": [each.id for each in holder.identity.regions()],
    }
    holder.identity.delete_application_credential(user, made.id)
    result["after"] = refused(lambda: list(program.identity.regions()))
    json.dump(result, sys.stdout)


main()

"""Prints where openstacksdk and swiftclient find the object store, as JSON."""

import json
import sys

import openstack
import swiftclient


def main():
    wishes = json.load(sys.stdin)
    connection = openstack.connect(
        auth_url=wishes["auth_url"],
        username=wishes["user"],
        user_domain_name=wishes["account"],
        password=wishes["password"],
        project_name=wishes["project"],
        project_domain_name=wishes["account"],
        region_name=wishes["region"],
        load_envvars=False,
        load_yaml_config=False,
    )
    url, _token = swiftclient.Connection(
        authurl=wishes["auth_url"],
        user=wishes["user"],
        key=wishes["password"],
        auth_version="3",
        os_options={
            "user_domain_name": wishes["account"],
            "project_name": wishes["project"],
            "project_domain_name": wishes["account"],
            "region_name": wishes["region"],
        },
    ).get_auth()
    json.dump({"openstacksdk": connection.object_store.get_endpoint(), "swiftclient": url}, sys.stdout)


main()

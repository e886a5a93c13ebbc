package main

import (
	"context"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

type credentialOutcome struct {
	Project      string `json:"project"`
	Unrestricted bool   `json:"unrestricted"`
	// Whether the time of expiry came back as it was sent.
	SameExpiry bool `json:"same_expiry"`
	Listed     int  `json:"listed"`
	// HTTP status of making another one with the token of the credential.
	More int `json:"more"`
	// HTTP status of a login after the credential was deleted.
	After int `json:"after"`
}

// useCredential makes an application credential, logs in with it, and deletes it.
func useCredential(ctx context.Context, w wishes) credentialOutcome {
	holder, user := clientOf(ctx, options(w))
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	made, err := applicationcredentials.Create(ctx, holder, user, applicationcredentials.CreateOpts{
		Name:      "nightly",
		ExpiresAt: &expires,
	}).Extract()
	must(err)
	login := gophercloud.AuthOptions{
		IdentityEndpoint:            w.AuthURL,
		ApplicationCredentialID:     made.ID,
		ApplicationCredentialSecret: made.Secret,
	}
	program, _ := clientOf(ctx, login)
	project, err := tokens.Get(ctx, program, program.TokenID).ExtractProject()
	must(err)
	pages, err := applicationcredentials.List(holder, user, applicationcredentials.ListOpts{Name: "nightly"}).AllPages(ctx)
	must(err)
	listed, err := applicationcredentials.ExtractApplicationCredentials(pages)
	must(err)
	_, err = applicationcredentials.Create(ctx, program, user, applicationcredentials.CreateOpts{Name: "more"}).Extract()
	out := credentialOutcome{
		Project:      project.Name,
		Unrestricted: made.Unrestricted,
		SameExpiry:   made.ExpiresAt.Equal(expires),
		Listed:       len(listed),
		More:         statusOf(err),
	}
	must(applicationcredentials.Delete(ctx, holder, user, made.ID).ExtractErr())
	_, err = openstack.AuthenticatedClient(ctx, login)
	out.After = statusOf(err)
	return out
}

// clientOf logs in. It returns the identity service and the id of the user.
func clientOf(ctx context.Context, login gophercloud.AuthOptions) (*gophercloud.ServiceClient, string) {
	provider, err := openstack.AuthenticatedClient(ctx, login)
	must(err)
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(err)
	user, err := tokens.Get(ctx, identity, provider.TokenID).ExtractUser()
	must(err)
	return identity, user.ID
}

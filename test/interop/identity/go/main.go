// Uses the identity endpoint with gophercloud, and prints the result of each step as one JSON object.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// The input, from standard input.
type wishes struct {
	AuthURL  string `json:"auth_url"`
	Account  string `json:"account"`
	User     string `json:"user"`
	Password string `json:"password"`
	// Empty: an account-scoped token.
	Project string `json:"project"`
	// Whether to make an application credential for the project and to log in with it.
	Credential bool `json:"credential"`
}

type outcome struct {
	// HTTP status of a refused login.
	Refused int `json:"refused,omitempty"`

	CatalogURL string `json:"catalog_url,omitempty"`
	User       string `json:"user,omitempty"`
	Account    string `json:"account,omitempty"`
	Project    string `json:"project,omitempty"`
	// The lifetime of the token in seconds, from its own description.
	Lifetime float64 `json:"lifetime,omitempty"`

	ValidBefore bool `json:"valid_before"`
	ValidAfter  bool `json:"valid_after"`
	// HTTP status of validating an invalid token.
	Garbage int `json:"garbage,omitempty"`
	// Whether the client logged in again by itself after its own token was revoked.
	Renewed bool `json:"renewed"`
}

func main() {
	log.SetFlags(0)
	var w wishes
	must(json.NewDecoder(os.Stdin).Decode(&w))
	if w.Credential {
		must(json.NewEncoder(os.Stdout).Encode(useCredential(context.Background(), w)))
		return
	}
	must(json.NewEncoder(os.Stdout).Encode(drive(context.Background(), w)))
}

func drive(ctx context.Context, w wishes) outcome {
	provider, err := openstack.AuthenticatedClient(ctx, options(w))
	if err != nil {
		return outcome{Refused: statusOf(err)}
	}
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(err)
	own := provider.TokenID

	result := tokens.Get(ctx, identity, own)
	token, err := result.ExtractToken()
	must(err)
	user, err := result.ExtractUser()
	must(err)
	out := outcome{
		CatalogURL: identity.Endpoint,
		User:       user.Name,
		Account:    user.Domain.Name,
		Lifetime:   time.Until(token.ExpiresAt).Seconds(),
	}
	if project, err := result.ExtractProject(); err == nil && project != nil {
		out.Project = project.Name
	}

	// A second token, so that the first one can be used to validate it after it is revoked.
	second := tokens.Create(ctx, identity, createOptions(w))
	subject, err := second.ExtractTokenID()
	must(err)
	out.ValidBefore, err = tokens.Validate(ctx, identity, subject)
	must(err)
	must(tokens.Revoke(ctx, identity, subject).Err)
	out.ValidAfter, err = tokens.Validate(ctx, identity, subject)
	must(err)
	_, err = tokens.Get(ctx, identity, "garbage").ExtractToken()
	out.Garbage = statusOf(err)

	// After its own token is revoked, the client is refused once, logs in again and repeats the request.
	must(tokens.Revoke(ctx, identity, own).Err)
	_, err = tokens.Get(ctx, identity, "garbage").ExtractToken()
	out.Renewed = statusOf(err) == http.StatusNotFound && provider.TokenID != own
	return out
}

func options(w wishes) gophercloud.AuthOptions {
	scope := &gophercloud.AuthScope{DomainName: w.Account}
	if w.Project != "" {
		scope = &gophercloud.AuthScope{ProjectName: w.Project, DomainName: w.Account}
	}
	return gophercloud.AuthOptions{
		IdentityEndpoint: w.AuthURL,
		Username:         w.User,
		Password:         w.Password,
		DomainName:       w.Account,
		Scope:            scope,
		AllowReauth:      true,
	}
}

func createOptions(w wishes) *tokens.AuthOptions {
	scope := tokens.Scope{DomainName: w.Account}
	if w.Project != "" {
		scope = tokens.Scope{ProjectName: w.Project, DomainName: w.Account}
	}
	return &tokens.AuthOptions{Username: w.User, Password: w.Password, DomainName: w.Account, Scope: scope}
}

// The HTTP status in an error; 0 if it has none.
func statusOf(err error) int {
	var unexpected gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &unexpected) {
		return unexpected.Actual
	}
	if err != nil {
		log.Print(err)
	}
	return 0
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package gate

import (
	"net"
	"net/http"
)

// RequireToken calls next only if the sidecar allows the request. accountOf names the account that owns the requested resource, from
// the path or your records.
func (g *Gate) RequireToken(api string, accountOf func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		address, _, _ := net.SplitHostPort(request.RemoteAddr)
		// The context of a request ends when its client leaves.
		refused := g.refusal(request.Context(), api, accountOf(request), address, request.Header.Values)
		if refused == nil {
			next.ServeHTTP(response, request)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Cache-Control", "no-store")
		response.Header().Set("X-Portcullis-Reason", refused.detail.Reason)
		if refused.rules != "" {
			response.Header().Set("X-Portcullis-Rules-Digest", refused.rules)
		}
		switch refused.status {
		case http.StatusUnauthorized:
			response.Header().Set("WWW-Authenticate", refused.challenge)
		case http.StatusServiceUnavailable:
			response.Header().Set("Retry-After", "1")
		}
		response.WriteHeader(refused.status)
		_, _ = response.Write(refused.body())
	})
}

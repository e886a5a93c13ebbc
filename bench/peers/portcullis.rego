# The same question for OPA: may a token of this kind open this API? Undefined, which is a denial, where not.
package portcullis

allow if data.accepts[input.api][input.kind]

# The question for OPA: may a token of this kind open this API? If not, the answer is undefined, which is a denial.
package portcullis

allow if data.accepts[input.api][input.kind]

/**
 * Says that a sidecar hands on the call of another one. Then the client certificate is that of the sidecar,
 * and does not count: only what the call itself presents does.
 */
export const FORWARDED_HEADER = 'x-portcullis-forwarded' as const

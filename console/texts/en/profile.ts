/** The texts of the pages of a user's own profile: API keys, IAM tokens, security, sessions. */

export const texts = {}

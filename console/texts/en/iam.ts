/** The texts of IAM, projects, access limits and the audit trail. */

export const texts = {}

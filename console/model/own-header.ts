/** The header which says that the page itself asks. A form or a link of another site cannot send it. */
export const OWN_HEADER = { 'X-Portcullis-Console': '1' } as const

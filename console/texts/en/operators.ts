/** The texts of the pages of operators. */

export const texts = {}

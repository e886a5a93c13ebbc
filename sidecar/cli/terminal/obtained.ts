/** Where a person gets a token, in words. */

interface Obtained {
  readonly by: string
  readonly link?: string | undefined
}

export function obtainedText({ by, link }: Obtained): string {
  if (link !== undefined) return `from ${link}`
  return by === 'elsewhere' ? 'not from here' : 'from the control panel'
}

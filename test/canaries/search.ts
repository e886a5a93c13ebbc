/**
 * Finds secrets in outputs: as they are, in every encoding in which they could come out, and pieces of them.
 */

/** A piece of a secret of this length is one too many. Everything shorter could be there by chance. */
const PIECE = 12

export type Secrets = Readonly<Record<string, string>>

/** The names of the secrets of which the output has a piece. */
export function shownIn(output: string | Buffer, secrets: Secrets): string[] {
  const views = viewsOf(typeof output === 'string' ? output : output.toString('latin1'))
  return Object.entries(secrets)
    .filter(([, secret]) => piecesOf(secret).some((piece) => views.some((view) => view.includes(piece))))
    .map(([name]) => name)
}

const PIECES = new Map<string, readonly string[]>()

/** Every piece of the length. */
function piecesOf(secret: string): readonly string[] {
  let pieces = PIECES.get(secret)
  if (pieces === undefined) {
    if (secret.length < PIECE) throw new Error(`expected a secret of at least ${PIECE} characters`)
    pieces = Array.from({ length: secret.length - PIECE + 1 }, (_, at) => secret.slice(at, at + PIECE))
    PIECES.set(secret, pieces)
  }
  return pieces
}

/** The output as it is, and what its encoded parts hold. */
function viewsOf(output: string): string[] {
  const plain = [output, percentDecoded(output), unescaped(output)]
  return [...new Set(plain)].flatMap((view) => [view, ...base64In(view), ...hexIn(view)])
}

function percentDecoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
}

/** JSON's escapes of printable characters, and those of `escaped`. */
function unescaped(text: string): string {
  return text
    .replace(/\\u\{?([0-9a-f]{2,6})\}?/gi, (_, digits: string) =>
      String.fromCodePoint(Math.min(Number.parseInt(digits, 16), 0x10ffff)),
    )
    .replace(/\\(["\\/])/g, '$1')
}

/** Also where text stands before it without a break, so that its groups of four begin anywhere. */
function base64In(text: string): string[] {
  return [...text.matchAll(/[A-Za-z0-9+/_-]{16,}/g)].flatMap(([run]) =>
    [0, 1, 2, 3].map((skipped) => Buffer.from(run.slice(skipped), 'base64').toString('latin1')),
  )
}

/** With and without separators between the bytes. */
function hexIn(text: string): string[] {
  const runs = [
    ...text.matchAll(/[0-9a-f]{24,}/gi),
    ...text.matchAll(/(?:[0-9a-f]{2}[ :,]){11,}[0-9a-f]{2}/gi),
  ]
  return runs.flatMap(([run]) => {
    const digits = run.replace(/[ :,]/g, '')
    return [0, 1].map((skipped) => Buffer.from(digits.slice(skipped), 'hex').toString('latin1'))
  })
}

/** The answer of a sidecar that does not show its rules to everyone. */

export interface Refusal {
  /** Whether a credential is missing or wrong; else the holder of this one may not. */
  readonly needsCredential: boolean
  /** In the words of the sidecar. */
  readonly message: string
  /** Whether users can log in. */
  readonly controlPanel: boolean
}

/** Reads the answer. @throws Error where it is another one */
export function refusalOf(status: number, body: unknown): Refusal {
  const { message, controlPanel } = (body ?? {}) as Partial<Refusal>
  if ((status !== 401 && status !== 403) || typeof message !== 'string') throw new Error(`status ${status}`)
  return { needsCredential: status === 401, message, controlPanel: controlPanel === true }
}

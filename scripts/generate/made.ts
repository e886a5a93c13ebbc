/** The result of every generator. */
export interface Made {
  /** Path → content. */
  readonly files: ReadonlyMap<string, string | Uint8Array>
  /** Files of the checkout that it is made of, from the root. */
  readonly inputs: readonly string[]
}

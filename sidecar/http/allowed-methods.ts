/** Which methods a path has, for 405 and OPTIONS. */

/**
 * Which methods each path has. The router cannot be asked, because `*` and `:` in a path are special to it.
 */
export class Routes {
  readonly #methods = new Map<string, readonly string[]>()

  add(path: string, method: string | readonly string[]): void {
    this.#methods.set(path, [...new Set([...(this.#methods.get(path) ?? ['OPTIONS']), method].flat())].sort())
  }

  /** Empty: the path does not exist. */
  methodsOf(url: string): readonly string[] {
    const path =
      url
        .split('?', 1)[0]
        ?.replace(/\/{2,}/g, '/')
        .replace(/(?<=.)\/$/, '') ?? ''
    const parts = path.split('/')
    for (const [route, methods] of this.#methods) {
      const expected = route.split('/')
      if (expected.length === parts.length && expected.every((part, index) => fits(part, parts[index])))
        return methods
    }
    return []
  }
}

/** Whether a part of a path fits that of a route, which may be a parameter. */
function fits(expected: string, part: string | undefined): boolean {
  return expected.startsWith(':') ? part !== '' : expected === part
}

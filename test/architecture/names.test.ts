/** A name of a file is found once in a part of the product, so that a reader who looks for it finds one. */
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { sourcesIn } from '../support/checkout/sources.ts'

/** Folders that make of a name another word, each with the reason. */
const OTHER_WORDS: readonly (readonly [folder: string, reason: string])[] = [
  ['sidecar/cli/commands/', 'a command has the name that is typed'],
  ['sidecar/transports/', 'protocols are siblings: a reader who knows one finds their way in the others'],
]

test.each(['sidecar/', 'scripts/'])('no name stands twice in %s', (part) => {
  const paths = sourcesIn(part)
    .filter(({ path, generated }) => !generated && !OTHER_WORDS.some(([folder]) => path.startsWith(folder)))
    .map(({ path }) => path)
  expect(paths.length).toBeGreaterThan(10)
  expect(repeatedIn(paths)).toEqual([])
})

// The rule is no stronger than the search.
test('the search finds names that stand twice', () => {
  expect(repeatedIn(['a/x.ts', 'a/b/x.ts', 'a/y.ts', 'c/y.tsx'])).toEqual(['a/b/x.ts', 'a/x.ts'])
})

/** The paths whose names stand twice, by name. The entry of a folder is `index.ts`. */
function repeatedIn(paths: readonly string[]): string[] {
  const named = Object.entries(Object.groupBy(paths, (path) => posix.basename(path)))
  return named.flatMap(([name, all = []]) => (name === 'index.ts' || all.length === 1 ? [] : all.toSorted()))
}

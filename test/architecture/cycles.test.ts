/**
 * No file imports itself through others, types included: every file can be understood after the files that it
 * imports.
 */
import { expect, test } from 'vitest'
import { importsBetween, LANGUAGES, sourcesOf } from '../support/checkout/client-imports.ts'
import { importsOf, sources } from '../support/checkout/sources.ts'

/** File → the files that it imports. */
type Imports = ReadonlyMap<string, readonly string[]>

test('no import of TypeScript goes in a cycle', () => {
  expect(cyclesIn(new Map(sources.map((source) => [source.path, importsOf(source)])))).toEqual([])
})

test.each(LANGUAGES)('no import in the client for $language goes in a cycle', (language) => {
  const imports = importsBetween(language, sourcesOf(language))
  expect([...imports.values()].flat().length).toBeGreaterThan(imports.size)
  expect(cyclesIn(imports)).toEqual([])
})

// The rule is no stronger than the readers of imports.
test.each<[language: string, a: string, imported: string[]]>([
  ['Rust', 'use crate::b::{B, c};\n', ['b']],
  ['Rust', 'use crate::{b, c::C, v1};\n', ['b', 'c']],
  ['Rust', 'fn a() -> crate::b::B {}\n', ['b']],
  ['Rust', 'use crate::B;\n', ['lib']],
  ['Rust', '//! As in crate::b.\nmod c;\n', []],
  ['Python', 'from .b import (\n    c,\n)\n', ['b']],
  ['Python', 'from . import b, c\n', ['b', 'c']],
  ['Python', 'from portcullis_client.b import c\n', ['b']],
  ['Python', 'if TYPE_CHECKING:\n    from .b import c\n', ['b']],
  ['Python', 'from b import c\n', []],
  ['Java', 'class A { B b = C.d(); }', ['B', 'C']],
  ['Java', 'sealed class A permits B, C { String s = "B"; } // C', []],
  ['Java', "/** {@link B} */ class A { A.B b; char c = 'C'; }", []],
])('the reader of %s finds the imports of %j', (language, text, imported) => {
  const reader = LANGUAGES.find((each) => each.language === language)
  if (reader === undefined) throw new Error(language)
  const others = ['b', 'c', 'lib', 'B', 'C'].map((name) => ({ path: name, text: '' }))
  expect(importsBetween(reader, [{ path: 'A', text }, ...others]).get('A')).toEqual(imported)
})

// The rule is no stronger than the search for cycles.
test.each<[what: string, imports: Record<string, string[]>, cycles: string[]]>([
  ['no import', { a: [], b: [] }, []],
  ['a chain', { a: ['b'], b: ['c'], c: [] }, []],
  ['two ways to one file', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, []],
  ['a package', { a: ['node:fs'] }, []],
  ['a file that imports itself', { a: ['a'] }, ['a → a']],
  ['two files', { a: ['b'], b: ['a'] }, ['a → b → a']],
  ['a cycle behind a chain', { a: ['b'], b: ['c'], c: ['d'], d: ['b'] }, ['b → c → d → b']],
  ['two cycles', { a: ['b'], b: ['a', 'c'], c: ['d'], d: ['c'] }, ['a → b → a', 'c → d → c']],
  ['two cycles through one file', { a: ['b', 'c'], b: ['a'], c: ['a'] }, ['a → b → a', 'a → c → a']],
])('the search for cycles finds those of %s', (_what, imports, cycles) => {
  expect(cyclesIn(new Map(Object.entries(imports)))).toEqual(cycles)
})

/** At least one cycle of each group of files that import each other. */
function cyclesIn(imports: Imports): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start !== -1) cycles.push([...path.slice(start), file].join(' → '))
    if (start !== -1 || done.has(file)) return
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return cycles
}

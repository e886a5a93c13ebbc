/** Styles of the control panel: they are loaded beside the explorer, and change nothing of it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, sourcesIn } from '../support/checkout/sources.ts'

/** Selectors that both have, and that the control panel means to change. */
const SHARED = ['.top', 'button:disabled', '[aria-disabled="true"]']

const FILES = globSync('console/styles/panel/*.css', { cwd: ROOT }).map((path) => ({
  path,
  selectors: selectorsOf(readFileSync(join(ROOT, path), 'utf8')),
}))

test('each selector names something that only the control panel has', () => {
  const ofTheExplorer = new Set(
    sourcesIn('console/ui/').flatMap(
      ({ text }) =>
        Array.from(
          text.matchAll(/class=(?:"([^"]+)"|\{([^}]*)\})/g),
          ([, one = '', other = '']) => `${one} ${other}`,
        )
          .join(' ')
          .match(/[a-z][a-z-]+/g) ?? [],
    ),
  )
  const shared = FILES.flatMap(({ path, selectors }) =>
    selectors
      .filter((selector) => !SHARED.includes(selector))
      .filter((selector) => classesIn(selector).every((name) => ofTheExplorer.has(name)))
      .map((selector) => `${path}: ${selector}`),
  )
  expect(ofTheExplorer).toContain('facts')
  expect(shared).toEqual([])
})

test('no area styles what begins with a class of another area', () => {
  const areas = FILES.filter(({ path }) => /(profile|iam|operators)\.css$/.test(path))
  expect(areas).toHaveLength(3)
  const firsts = areas.map(
    ({ selectors }) => new Set(selectors.flatMap((each) => classesIn(each).slice(0, 1))),
  )
  const common = ['panel-page', 'dialog', 'actions', 'field', 'list', 'rows', 'top']
  const met = firsts.flatMap((names, area) =>
    [...names].filter((name) => firsts.some((others, other) => other > area && others.has(name))),
  )
  expect(met.filter((name) => !common.includes(name))).toEqual([])
})

function classesIn(selector: string): string[] {
  return Array.from(selector.matchAll(/\.([a-z][a-z-]*)/g), ([, name = '']) => name)
}

/** Each selector of a file; a list within parentheses is a part of one. */
function selectorsOf(text: string): string[] {
  return Array.from(text.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/([^{};]+)\{/g), ([, list = '']) => list)
    .filter((list) => !/@|^\s*(from|to|\d+%)\s*$/.test(list))
    .flatMap((list) => list.split(/,(?![^(]*\))/))
    .map((selector) => selector.trim())
}

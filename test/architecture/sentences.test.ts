/**
 * Habits of English that a pattern finds in comments, in messages and in names of tests. Readers find the
 * others.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'

interface Habit {
  readonly claim: string
  readonly pattern: RegExp
  /** Held to it beside the sentences of comments. */
  readonly also: (text: string) => string[]
  readonly examples: readonly string[]
}

const HABITS: readonly Habit[] = [
  {
    claim: 'no sentence and no test begins with a clause without a noun',
    pattern:
      /^(?:who|whose|what|which|that (?:an?|the|no|every|each|it|they|there|one|its|all|both))\b[^?]*$/i,
    also: namesOf,
    examples: ['What a client sees.', 'Who asks, and how.', 'what is written is read again'],
  },
  {
    claim: 'a sentence names a caller, a user or a client',
    pattern: /\b(?:nobody|somebody|anybody|no one(?!-)|someone|whoever)\b/i,
    also: textsOf,
    examples: ['a token that nobody knows', 'Whoever asks gets an answer.'],
  },
  {
    claim: 'no idiom stands for an end, an amount or an owner',
    pattern:
      /\b(?:is|are|was|were) over(?=[.,;:)]|$)|\bso (?:long|much|many|often)\b(?! as| that)|\b(?:of|on) (?:its|their) own\b(?! \w)|\bapart\b(?! from)/,
    also: namesOf,
    examples: ['Whether it is over.', 'Waits for so long.', 'a process of its own', 'tells them apart'],
  },
  {
    claim: 'a sentence negates its verb, and not a noun',
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were) (?:none\b|no (?!longer|older|other|more|less|stronger|weaker)\w)/i,
    also: namesOf,
    examples: ['This is no error.', 'An id that is none.'],
  },
  {
    claim: 'a sentence has the verbs of the field',
    pattern:
      /\b(?:told|tells?|telling|hand(?:s|ed|ing) (?:\w+ )?on|vouch\w*|gives? way|mends?|(?:has|have|had) to)\b/,
    also: namesOf,
    examples: ['It tells a follower.', 'hands on a call', 'an authority vouches for it', 'It has to wait.'],
  },
]

const files = globSync(
  [
    '{engine,matrix,proto,sidecar,clients,console,bench,scripts,examples,test}/**/*.{ts,tsx,js,css,proto,go,java,rs,py}',
    '{examples,deploy}/**/*.{yaml,conf}',
  ],
  { cwd: ROOT, exclude: ['**/node_modules', '**/gen', '**/dist', '**/target'] },
)
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.endsWith('/sentences.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

const HASHES = /^ *(?:#+ |r?""")(.+?)(?:""")?$/
const SLASHES = /(?:^\s*(?:\/\*\*?|\*|\/\/[/!]?)|\s\/\/) (.+?)(?: ?\*\/)?$/

/** The sentences of a file's comments; `it` stands for code in them. */
function sentencesOf(path: string, text: string): string[] {
  const mark = /\.(?:py|yaml|conf)$/.test(path) ? HASHES : SLASHES
  return text
    .split('\n')
    .map((line) => mark.exec(line)?.[1]?.trim() ?? '\n')
    .join(' ')
    .replace(/`[^`]*`|@param \w+/g, 'it')
    .split(/\s*\n\s*|(?<=[.;:!?]) (?=[A-Z])/)
}

/** Texts of a file with a space in them, on one line. */
function textsOf(text: string): string[] {
  return Array.from(text.matchAll(/(['"`])([^'"`\n]* [^'"`\n]*)\1/g), ([, , said = '']) => said)
}

function namesOf(text: string): string[] {
  const names = text.matchAll(/(?:\b(?:test|describe)[.\w]*(?:\(.*\))?|^\s*\]\))\(\s*(['"`])(.*?)\1/gm)
  return Array.from(names, ([, , name = '']) => name)
}

test.each(HABITS)('$claim', ({ pattern, also, examples }) => {
  expect(examples.filter((sentence) => !pattern.test(sentence))).toEqual([])
  const found = files.flatMap(({ path, text }) =>
    [...sentencesOf(path, text), ...also(text)]
      .filter((sentence) => pattern.test(sentence))
      .map((sentence) => `${path}: ${sentence}`),
  )
  expect(found).toEqual([])
})

test('the readers of sentences and of names find them', () => {
  expect(sentencesOf('a.ts', '/** One `x`.\n * Two. */\na() // Three\n')).toEqual(
    expect.arrayContaining(['One it.', 'Two.', 'Three']),
  )
  expect(sentencesOf('a.py', '# One.\n"""Two."""\n')).toEqual(expect.arrayContaining(['One.', 'Two.']))
  expect(namesOf("test('a b', f)\n])('c', f)\ndescribe.each(X)(\n  'd'")).toEqual(['a b', 'c', 'd'])
})

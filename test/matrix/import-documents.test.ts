/** Reading documents: which table is meant, which side has the kinds, what each mark says, and bad input. */
import { describe, expect, test } from 'vitest'
import {
  DOCUMENT_BYTES_MAX,
  DocumentError,
  type DocumentFormat,
  documentText,
  formatOfName,
  mergeReading,
  type ReadOptions,
  readDocument,
} from '../../matrix/import/index.ts'
import { json } from '../../matrix/index.ts'

const read = (text: string, format: DocumentFormat = 'markdown', options: ReadOptions = {}) =>
  readDocument(text, format, options, json)

/** The facts alone: heading of an API → headings of the kinds that open it, and the notes. */
function facts(text: string, format: DocumentFormat = 'markdown', options: ReadOptions = {}) {
  const { apis, kinds } = read(text, format, options)
  const kind = (index: number) => kinds[index]?.heading as string
  return Object.fromEntries(
    apis.map(({ heading, accepts, notes }) => [
      heading,
      accepts.map((index) => (notes.has(index) ? `${kind(index)}: ${notes.get(index)}` : kind(index))),
    ]),
  )
}

const table = (...cells: readonly string[]) =>
  ['| API | Key | Badge |', '|---|---|---|', ...cells.map((row) => `| ${row} |`)].join('\n')

const refused = (work: () => unknown): [line: number | undefined, message: string] => {
  try {
    work()
  } catch (error) {
    if (error instanceof DocumentError) return [error.line, error.message]
    throw error
  }
  throw new Error('the document was read')
}

describe('marks', () => {
  const yes = '✓ ✔ ✔️ ✅ Yes Y x X • ● + :white_check_mark: `yes` **Yes** true'.split(' ')
  const no = ['✗', '✘', '❌', 'No', 'N', '–', '—', '-', '', '`no`', ':x:', 'false']

  test.each(yes)('%s says yes', (mark) => {
    expect(facts(table(`Loans | ${mark} | no`))).toEqual({ Loans: ['Key'] })
  })
  test.each(no)('“%s” says no', (mark) => {
    expect(facts(table(`Loans | ${mark} | yes`))).toEqual({ Loans: ['Badge'] })
  })

  test.each(['Limited', 'Partial', 'Read only', 'Yes?', 'n/a', '*', '✓ ✗', '2', 'Yes or no', '(1)', '[^1]'])(
    '“%s” is not guessed',
    (mark) => {
      const { marks, apis } = read(table(`Loans | ${mark} | x`, 'Fines | x | x'))
      expect(marks.filter(({ meaning }) => meaning === undefined)).toEqual([
        { mark, meaning: undefined, count: 1, lines: [3] },
      ])
      expect(apis[0]?.accepts).toEqual([1])
    },
  )

  test.each<[meaning: 'yes' | 'no' | 'note', accepted: string[]]>([
    ['yes', ['Key', 'Badge']],
    ['no', ['Badge']],
    ['note', ['Key: Limited', 'Badge']],
  ])('one that is explained as %s says that', (meaning, accepted) => {
    const text = table('Loans | Limited | x', 'Fines | x | x')
    expect(facts(text, 'markdown', { marks: { limited: meaning } }).Loans).toEqual(accepted)
  })

  test.each<[how: string, mark: string, below: string, note: string]>([
    ['a footnote of GitHub', '✓ [^a]', '[^a]: At night.', 'At night.'],
    ['a footnote of one word', '✓[^1]', '[^1]: soon', 'soon'],
    ['a number in brackets', 'Yes (1)', '(1) At night.', 'At night.'],
    ['a number in square brackets', 'Yes [1]', '\\[1] At night.', 'At night.'],
    ['a raised number', 'Yes¹', '¹ At night.', 'At night.'],
    ['an asterisk', '✓ *', '\\* At night.', 'At night.'],
    ['an asterisk that Markdown takes for a list', '✓ \\*', '* At night.', 'At night.'],
    ['a number that HTML raises', 'Yes<sup>1</sup>', '1. At *night*.', 'At night.'],
    ['two of them', 'Yes (1) (2)', '(1) At night.\n(2) Alone.', 'At night. Alone.'],
    ['words in brackets', 'Yes (read only)', '', 'read only'],
  ])('%s is a note', (_how, mark, below, note) => {
    expect(facts(`${table(`Loans | ${mark} | x`)}\n\n${below}`).Loans).toEqual([`Key: ${note}`, 'Badge'])
  })

  test('footnotes of headings are notes of their cells, and one that is not explained is left out', () => {
    const text = `${table('Loans (1) | x | no', 'Fines | x (9) | x')}\n\n(1) At night.`
    expect(facts(text)).toEqual({ Loans: ['Key: At night.'], Fines: ['Key: footnote 9', 'Badge'] })
    expect(read(text).leftOut).toEqual([
      { line: 4, what: 'footnote “9”', why: 'the document does not explain it' },
    ])
  })

  test('footnotes below another table are not meant', () => {
    const other = `## Other\n\n(1) By day.\n\n${table('Doors | x (1) | x')}\n\n(1) At night.`
    expect(facts(other).Doors).toEqual(['Key: At night.', 'Badge'])
  })
})

describe('the shape of a table', () => {
  const turned = '| Token | Loans | Fines |\n|---|---|---|\n| Day pass | x | |\n| Kiosk key | x | x |'
  test('its kinds may be rows', () => {
    expect(facts(turned)).toEqual({ Loans: ['Day pass', 'Kiosk key'], Fines: ['Kiosk key'] })
    expect(read(turned).kindsAre).toBe('rows')
    expect(Object.keys(facts(turned, 'markdown', { kinds: 'columns' }))).toEqual(['Day pass', 'Kiosk key'])
  })

  test('the names of a matrix say which side they are on', () => {
    const text = '| | A | B |\n|---|---|---|\n| C | x | |\n| D | x | x |'
    expect(read(text).kindsAre).toBe('columns')
  })

  const html = `<table><thead>
    <tr><th rowspan="2">API</th><th colspan="2">Users</th><th>Apps</th></tr>
    <tr><th>Key</th><th>Badge</th><th>Key</th></tr></thead>
    <tbody><tr><th colspan="4">Lending</th></tr>
    <tr><td>Loans</td><td>&check;</td><td><img alt="Yes"></td><td></td></tr>
    <tr><td><b>Fines</b><td>x<td>no<td>x
    </table>`
  test('it may have two rows of headings, and headings of rows, which are sections', () => {
    expect(facts(html, 'html')).toEqual({ Loans: ['Users Key', 'Badge'], Fines: ['Users Key', 'Apps Key'] })
    expect(read(html, 'html').apis.map(({ section }) => section)).toEqual(['Lending', 'Lending'])
  })

  test('two rows of headings stand in Markdown, too', () => {
    const text =
      '| | Users | | Apps |\n|---|---|---|---|\n| API | Key | Badge | Secret |\n| Loans | x | | x |\n| Fines | | | x |'
    expect(facts(text)).toEqual({ Loans: ['Key', 'Secret'], Fines: ['Secret'] })
  })

  test('a bold row or one without marks is a heading, where the table has a mark for no', () => {
    const text = table('**Lending** | | ', 'Loans | x | –', 'Money | | ', 'Fines | – | x')
    expect(read(text).apis.map(({ heading, section }) => [heading, section])).toEqual([
      ['Loans', 'Lending'],
      ['Fines', 'Money'],
    ])
    // Without one it is an API that no kind opens.
    expect(facts(table('Loans | x | ', 'Money | | '))).toEqual({ Loans: ['Key'], Money: [] })
  })

  test('a row that is printed twice is kept, and a repeated heading is not a row', () => {
    const text = table('Loans | x | no', 'API | Key | Badge', 'Fines | x | x', 'loans | x | x')
    const { repeated, apis } = read(text)
    expect(apis).toHaveLength(2)
    expect(repeated).toEqual([{ api: 0, accepts: [0, 1], line: 6 }])
  })

  test('columns of texts are left out, and so is what is asked', () => {
    const text =
      '| API | Key | Remarks | Badge |\n|---|---|---|---|\n| Loans | x | by day | x |\n| Fines | x | late | |'
    expect(facts(text, 'markdown', { leaveOut: ['badge', 'Fines'] })).toEqual({ Loans: ['Key'] })
    expect(read(text, 'markdown', { leaveOut: ['badge', 'Fines'] }).leftOut).toEqual([
      { line: 1, what: 'column “Remarks”', why: 'its cells are not marks' },
      { line: 1, what: 'column “Badge”', why: 'as asked' },
      { line: 4, what: 'row “Fines”', why: 'as asked' },
    ])
  })

  test('a column says which APIs need no token; one that does so with a note says it of none', () => {
    const text =
      '| API | Key | Open |\n|---|---|---|\n| Loans | x | |\n| News | x | x |\n| Fines | | x (1) |\n\n(1) At night.'
    const { apis, kinds, leftOut } = read(text, 'markdown', { public: 'open' })
    expect(kinds.map(({ heading }) => heading)).toEqual(['Key'])
    expect(apis.map(({ isPublic }) => isPublic)).toEqual([false, true, false])
    expect(leftOut).toEqual([
      {
        ...{ line: 5, what: '“Fines”' },
        why: 'closed without a token, because it needs none only with the note “At night.”',
      },
    ])
  })

  test.each<[what: string, text: string, format: DocumentFormat]>([
    ['commas', '\ufeffAPI,Key,Badge\nLoans,x,\n"Fines, late",,x\n', 'csv'],
    ['semicolons', 'API;Key;Badge\r\nLoans;x;\r\n"Fines, late";;x\r\n', 'csv'],
    ['a separator that it names', 'sep=|\nAPI|Key|Badge\nLoans|x|\nFines, late||x\n', 'csv'],
    ['tabs', 'API\tKey\tBadge\nLoans\tx\t\nFines, late\t\tx\n', 'tsv'],
  ])('a file with %s is read', (_what, text, format) => {
    expect(facts(documentText(new TextEncoder().encode(text)), format)).toEqual({
      Loans: ['Key'],
      'Fines, late': ['Badge'],
    })
  })

  test('lines are those of the document, also behind cells of several lines', () => {
    expect(read('API,Key\n"Loans\nand more",x\n\nFines,x', 'csv').apis.map(({ line }) => line)).toEqual([
      2, 5,
    ])
    const front = `---\ntitle: x\n---\n\n> ${table('Loans | x | x').replaceAll('\n', '\n> ')}\n`
    expect(read(front).apis[0]?.line).toBe(7)
    const list = `- one\n\n  ${table('Loans | x | x').replaceAll('\n', '\n  ')}\n`
    expect(read(list).apis[0]?.line).toBe(5)
    const inside = `# T\n\n<div>\n<table><tr><th>API<th>Key</tr>\n\n<tr><td>Loans<td>x</tr></table>\n</div>\n`
    expect(read(inside).apis[0]?.line).toBe(6)
  })
})

describe('the table that is meant', () => {
  const sizes = '| Size | Price |\n|---|---|\n| small | 3 |'
  const many = Array.from({ length: 12 }, (_, index) => `## Part ${index}\n\n${table('Loans | x | x')}`).join(
    '\n\n',
  )

  test('is the only one with marks, or the one with tokens in its headings', () => {
    const doors = '| Door | Open |\n|---|---|\n| front | x |'
    expect(read(`${sizes}\n\n${doors}\n\n## Tokens\n\n${table('Loans | x | x')}`).where).toBe(
      'table 3 of 3, under “Tokens”',
    )
  })

  test('is named by its number or its heading', () => {
    expect(read(many, 'markdown', { table: 3 }).line).toBe(15)
    expect(read(many, 'markdown', { table: 'part 2' }).line).toBe(15)
  })

  test.each<[what: string, text: string, options: ReadOptions, line: number | undefined, message: RegExp]>([
    ['none', 'no table', {}, undefined, /^expected a table, found none$/],
    [
      'none with marks',
      sizes,
      {},
      1,
      /^expected a table with marks such as ✓, Yes or –; found 1 \(line 1\)$/,
    ],
    [
      'one of twelve',
      many,
      {},
      3,
      /^expected the number of the table .* \(--table\); found 1 \(line 3, “Part 0”\), 2 \(line 9/,
    ],
    ['a number that is not there', many, { table: 13 }, 3, /^expected one table 13; found 1 \(line 3/],
    ['a heading that is not there', many, { table: 'Parts' }, 3, /^expected one table under “Parts”; found/],
  ])('%s is refused in one sentence', (_what, text, options, line, message) => {
    const [at, said] = refused(() => read(text, 'markdown', options))
    expect([at, said]).toEqual([line, expect.stringMatching(message)])
    expect(said).not.toContain('\n')
  })
})

describe('bad input', () => {
  test.each<[what: string, bytes: Uint8Array, line: number | undefined, message: string]>([
    ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x41, 0), 1, 'expected UTF-8, found UTF-16'],
    ['bytes that are not UTF-8', Uint8Array.of(0x41, 10, 0xc3, 0x28), 2, 'expected UTF-8 text'],
    ['a byte of zeros', new TextEncoder().encode('a\n\nb\0'), 3, 'expected UTF-8 text'],
    [
      ...(['100 MB', new Uint8Array(100_000_000), undefined] as const),
      `expected at most ${DOCUMENT_BYTES_MAX} bytes, found 100000000`,
    ],
  ])('%s is refused in one sentence', (_what, bytes, line, message) => {
    expect(refused(() => documentText(bytes))).toEqual([line, message])
  })

  test('a character that stands for a fault of another program is text', () => {
    expect(documentText(new TextEncoder().encode('\ufffd'))).toBe('\ufffd')
  })

  test.each<[name: string, message: RegExp]>([
    ['tokens.xlsx', /; save it as CSV$/],
    ['tokens.adoc', /; save it as HTML$/],
    ['tokens.rst', /; save it as HTML$/],
    ['constructor', /^expected a document in Markdown, HTML, CSV, TSV or OpenAPI$/],
  ])('%s is not read', (name, message) => {
    expect(refused(() => formatOfName(name))[1]).toMatch(message)
  })

  const merged = (cell: string) =>
    `<table>\n<tr><th>API<th>Key<th>Badge</tr>\n<tr><td>Loans<td>x<td>x</tr>\n<tr>${cell}</tr>\n</table>`
  test.each<[what: string, text: string, format: DocumentFormat, line: number | undefined, message: RegExp]>([
    ['a cell over two columns', merged('<td>Fines<td colspan=2>x'), 'html', 4, /a cell reaches over several/],
    [
      'a cell over two rows',
      merged('<td>Fines<td rowspan=2>x<td>x'),
      'html',
      4,
      /a cell reaches over several/,
    ],
    ['an open quotation mark', 'API,Key\nLoans,"x\nFines,x', 'csv', 2, /^expected a quotation mark/],
    ['too many columns', `API${',x'.repeat(1_000)}\n`, 'csv', 1, /^expected at most 1000 columns/],
    ['a long heading', table(`${'_a'.repeat(500_000)} | x | x`), 'markdown', 3, /^expected a heading of at/],
    ['deep quotes', `\n${'>'.repeat(100_000)}`, 'markdown', 2, /^expected at most 64 levels/],
    ['deep elements', `\n${'<div>'.repeat(1_000_000)}`, 'html', 2, /^expected at most 512 levels/],
    ['deep lists', '- '.repeat(200_000), 'markdown', undefined, /^expected/],
    ['no column of marks', '| Key | x |\n|---|---|\n| a | ✓ |', 'markdown', undefined, /^$/],
  ])('%s is refused in one sentence', (_what, text, format, line, message) => {
    if (message.source === '^$') return expect(facts(text)).toEqual({ a: ['x'] })
    expect(refused(() => read(text, format))).toEqual([line, expect.stringMatching(message)])
  })
})

describe('ids', () => {
  test.each([
    ['Loans and returns', 'loans-and-returns'],
    ['chat.postMessage', 'chat.postmessage'],
    ['GET /repos/{owner}/issues', 'get-repos/owner/issues'],
    ['storage:objects (beta)', 'storage:objects-beta'],
    ['GET /rate_limit', 'get-rate_limit'],
    ['a://b}/c.', 'a:b/c'],
    ['Ämter', 'amter'],
    ['図書館', 'api1'],
    ['2fa', 'api2fa'],
    [`${'a/'.repeat(64)}b`, `${'a/'.repeat(63)}a`],
  ])('of an API keep the signs within its words: %s', (heading, id) => {
    const reading = read(`Method,CI/CD token\n${heading},x\n`, 'csv')
    const merged = mergeReading(reading, undefined, {
      ...{ source: { document: 'a.csv', digest: '' }, read: {}, title: 'A', carriageOf: () => undefined },
    })
    expect([merged.apis, merged.kinds]).toEqual([[id], ['ci_cd_token']])
  })
})

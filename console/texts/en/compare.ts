/** The texts of comparing two matrices, loaded with the first page that does. */
import { counted } from './explorer.ts'

export const compareTexts = {
  title: 'Compare',
  about:
    'Choose another matrix file. You see exactly which cells it opens and closes, in both modes, and what it loosens of the kinds.',
  private: 'The file is read in this page, and sent nowhere.',
  choose: 'Choose a file',
  drop: 'or drop it here',
  reading: 'Reading…',
  example: 'an example',
  exampleHint: 'The example is this matrix with one cell opened and one closed. A file takes its place.',
  against: (name: string) => `Compared with ${name}`,
  same: 'Both matrices decide every cell the same way.',
  counts: (opened: number, closed: number) =>
    `It opens ${counted(opened, 'cell', 'cells')} and closes ${counted(closed, 'cell', 'cells')}.`,
  factCounts: (loosened: number, changed: number, tightened: number) =>
    `Of the kinds of token it loosens ${counted(loosened, 'fact', 'facts')}, changes ${changed} and tightens ${tightened}.`,
  facts: 'Facts of kinds',
  factsHint:
    'Facts that decide with the cells: who obtains a token, for how long, and where it travels. A change that is neither may open an API for one request and close it for another.',
  fact: 'Fact',
  factTypes: { loosened: 'Loosened', changed: 'Changed', tightened: 'Tightened' },
  types: {
    opened: 'Opened',
    closed: 'Closed',
  },
  hints: {
    opened: 'Denied now, and allowed with the other file.',
    closed: 'Allowed now, and denied with the other file.',
  },
  onlyIn: { strict: 'in strict mode only', lenient: 'not in strict mode' },
  renamedCount: (count: number) => `Renamed APIs open ${counted(count, 'cell', 'cells')} by their new ids.`,
  renamed: 'Renamed APIs',
  renamedHint:
    'Their cells are compared across the two ids. A caller with the old id is denied, with the reason UNKNOWN_API. A caller with the new one was denied before: its cells count as opened where a matrix is put in force.',
  unfinished: 'The file is not finished',
  unfinishedHint: 'Its cells are compared all the same. A conflict that is not declared contests no cell.',
  conflicts: 'Conflicts',
  statements: 'Statements',
  apis: 'APIs',
  kinds: 'Kinds of token',
  added: 'new',
  removed: 'gone',
  changed: 'changed',
  notValid: 'The file is not a valid matrix',
  tooLarge: 'The file is larger than a matrix may be.',
  noYaml: 'This page reads JSON. The page that a sidecar serves reads YAML, too.',
  another: 'Choose another file',
  showMore: (count: number) => `Show ${count.toLocaleString('en')} more`,
  more: (count: number) => `and ${count.toLocaleString('en')} more`,
  kind: 'Kind of token',
  now: 'Now',
  withFile: 'With the file',
}

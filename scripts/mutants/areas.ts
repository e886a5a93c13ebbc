/** What `npm run mutants` changes, and which tests must notice it. */

/** Files with the tests that judge them: the fewest and fastest that should, those first that find most. */
export interface Part {
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

export interface Area {
  /** Percent of its mutants that tests must kill, those that are named in `survivors.ts` not counted. */
  readonly least: number
  readonly parts: readonly Part[]
}

const engine = (...names: readonly string[]) => names.map((name) => `engine/${name}.ts`)
const judges = (...names: readonly string[]) => names.map((name) => `test/${name}.test.ts`)

export const AREAS: Readonly<Record<string, Area>> = {
  engine: {
    least: 100,
    parts: [
      { files: engine('issuance'), tests: judges('engine/issuance') },
      { files: engine('messages'), tests: judges('engine/messages') },
      { files: engine('denial'), tests: judges('proxies/denial') },
      { files: engine('meant'), tests: judges('engine/messages') },
      { files: engine('cells'), tests: judges('engine/cells-of-both-modes', 'engine/compile') },
      { files: engine('credentials'), tests: judges('engine/credentials', 'engine/messages') },
      {
        files: engine('consistency'),
        tests: judges('engine/compile', 'matrix/carriage', 'matrix/broken-matrix'),
      },
      {
        files: engine('rule', 'reasons', 'situations', 'decide', 'table'),
        tests: judges(
          ...['engine/cells', 'engine/precedence', 'engine/scopes', 'engine/handles', 'engine/messages'],
          ...['engine/conflicts', 'engine/rule', 'engine/steps', 'engine/laws', 'engine/hostile'],
        ),
      },
      {
        files: engine('apis', 'conflicts', 'compile', 'freeze', 'large'),
        tests: judges(
          ...['engine/cells', 'engine/compile', 'engine/messages', 'engine/conflicts', 'engine/rule'],
          ...['engine/digest', 'engine/steps', 'engine/laws', 'engine/handles'],
        ),
      },
      { files: engine('digest'), tests: judges('engine/digest') },
    ],
  },
}

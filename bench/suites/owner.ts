/** The waits of the owner of a large matrix. */
import type { Suite } from '../harness/suite.ts'
import { diffRows } from './owner-diff.ts'
import { importRows } from './owner-import.ts'
import { lintRows } from './owner-lint.ts'

export const ownerSuite: Suite = {
  name: 'owner',
  run: async (size) => {
    const reports = [await lintRows(size), await diffRows(size), await importRows(size)]
    return {
      rows: reports.flatMap(({ rows }) => rows),
      answersChecked: reports.reduce((sum, report) => sum + report.answersChecked, 0),
    }
  },
}

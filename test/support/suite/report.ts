/** The end of a run: which files took longest; and for `.ci/run`, what passed, failed and was skipped. */
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { tell } from '../../../scripts/tally.ts'

const SLOWEST = 10

export default class Report implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const states = tests.map((test) => test.result().state)
    const count = (state: string) => states.filter((each) => each === state).length
    const skipped = Map.groupBy(
      tests.filter((test) => test.result().state === 'skipped'),
      (test) => pathOf(test.module),
    )
    tell({
      passed: count('passed'),
      failed: count('failed'),
      skipped: [...skipped].map(([file, each]) => ({
        what: `${file} > ${each[0]?.fullName}${each.length > 1 ? ', …' : ''}`,
        tests: each.length,
      })),
    })
    const slowest = modules
      .map((module) => ({ path: pathOf(module), seconds: module.diagnostic().duration / 1_000 }))
      .sort((one, other) => other.seconds - one.seconds)
      .slice(0, SLOWEST)
    if (modules.length > SLOWEST)
      console.log(
        [
          'the slowest files:',
          ...slowest.map(({ path, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${path}`),
        ].join('\n'),
      )
  }
}

function pathOf(module: TestModule): string {
  return relative('', module.moduleId)
}

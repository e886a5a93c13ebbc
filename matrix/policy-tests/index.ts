/** Policy tests: what a matrix must answer, as plain values. Others read the files and print. */
export type { Mode } from '../compare.ts'
export { characterise } from './characterise.ts'
export { Coverage, type CoveredPart, Missing, percentOf } from './coverage.ts'
export {
  countQuestions,
  nameOf,
  type PolicyTests,
  QUESTIONS_MAX,
  type TestHeaders,
} from './document.ts'
export { testProblems } from './problems.ts'
export { type Failure, type FindRoute, runTests, type Surroundings, type TestResult } from './run.ts'

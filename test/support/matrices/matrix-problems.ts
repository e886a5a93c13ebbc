/** Loading a matrix that is not right: what is wrong, as text. */
import { expect } from 'vitest'
import { loadMatrix, MatrixError, problemText } from '../../../matrix/index.ts'

/** The problems of a file that must be refused, each as `path: expected …`. */
export function problemsOf(
  file: string | Uint8Array,
  load: (file: string | Uint8Array) => unknown = loadMatrix,
): string[] {
  const error = thrownBy(() => load(file))
  expect(error).toBeInstanceOf(MatrixError)
  const { name, message, problems } = error as MatrixError
  const texts = problems.map(problemText)
  expect(name).toBe('MatrixError')
  const lines = problems.map((problem) => {
    // A problem at a place inside the document begins with its line and column.
    const { path, line, column } = problem
    return `  ${path === '' || line === undefined ? '' : `${line}:${column}: `}${problemText(problem)}`
  })
  expect(message).toBe(['the matrix is not valid:', ...lines].join('\n'))
  return texts
}

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}

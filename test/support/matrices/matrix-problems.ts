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
  expect(message).toBe(['the matrix is not valid:', ...texts.map((text) => `  ${text}`)].join('\n'))
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

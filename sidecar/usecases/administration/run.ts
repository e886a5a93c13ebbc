/** Administration by programs of this process. No call comes here: there is no right to look for. */
import type { Administration } from '../../authority/administration/administration.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import {
  type OperationName,
  type OperationRequest,
  type OperationResult,
  perform,
  rowOf,
} from './administer.ts'

/**
 * Does an operation for a program of this process, which has every right: the command line, the program that
 * started the sidecar, or a test.
 *
 * @throws CallError where there is no answer
 */
export function run<Name extends OperationName>(
  administration: Administration,
  author: ChangeAuthor,
  operation: Name,
  request: OperationRequest<Name>,
): Promise<OperationResult<Name>> {
  const context = { engine: administration.engine(), administration, requester: undefined, author }
  return perform(rowOf(operation), request, context, { hold: {}, confirm: async () => undefined })
}

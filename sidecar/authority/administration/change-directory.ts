/** Changes of the directory. Each goes through one function, which has its author and its transaction. */
import { callError } from '../../base/call-error.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { AlreadyExists, NoSuchProject } from '../../directory/database.ts'
import type { DirectoryStore } from '../../directory/store.ts'

/**
 * Changes the directory in one transaction: all of it holds afterwards, or nothing.
 *
 * @param creating what the change creates; the error names it where there is one of that name already
 * @throws CallError
 */
export async function changeDirectory<T>(
  directory: DirectoryStore,
  author: ChangeAuthor,
  work: (change: DirectoryChange) => Promise<T>,
  creating = '',
): Promise<T> {
  try {
    return await directory.change(author, work)
  } catch (error) {
    if (error instanceof AlreadyExists) throw callError('ALREADY_EXISTS', { what: creating })
    if (error instanceof NoSuchProject) throw callError('NO_SUCH_PROJECT', error)
    throw error
  }
}

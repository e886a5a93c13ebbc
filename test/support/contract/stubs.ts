/** The generated clients of grpc-js, for tests that need more of a call than our own client gives. */
import { makeClientConstructor } from '@grpc/grpc-js'
import {
  type AuthorizationServiceClientConstructor,
  AuthorizationServiceService,
} from '../../../proto/gen/portcullis/v1/authorization.ts'
import {
  type DirectoryServiceClientConstructor,
  DirectoryServiceService,
} from '../../../proto/gen/portcullis/v1/directory.ts'

export const AuthorizationStub = makeClientConstructor(
  AuthorizationServiceService,
  'portcullis.v1.AuthorizationService',
) as unknown as AuthorizationServiceClientConstructor

export const DirectoryStub = makeClientConstructor(
  DirectoryServiceService,
  'portcullis.v1.DirectoryService',
) as unknown as DirectoryServiceClientConstructor

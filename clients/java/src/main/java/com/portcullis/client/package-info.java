/**
 * Asks a Portcullis sidecar whether credentials open APIs, and obtains tokens from it.
 *
 * <p>{@link com.portcullis.client.Guard} lets requests of servlets pass whose token opens an API,
 * and {@link com.portcullis.client.CallGuard} calls of gRPC. {@link
 * com.portcullis.client.Credential} sends requests with the token of a profile. With {@link
 * com.portcullis.client.Client.Builder#local() local} a client decides in the memory of the
 * program: it follows changes, and asks the sidecar once about each token.
 *
 * <p>A denial is an answer. Where there is no answer, a call throws {@link
 * com.portcullis.client.PortcullisException}: treat it as a denial.
 */
package com.portcullis.client;

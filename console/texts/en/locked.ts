/** The texts of the page where a sidecar shows its matrix to its callers and users alone, in English. */
export const texts = {
  logIn: 'This sidecar shows its matrix only to people who are logged in.',
  refused: 'The matrix cannot be shown',
  title: 'Caller token needed',
  about: 'This sidecar shows its matrix only to its callers.',
  token: 'Caller token',
  hint: 'The page forgets it when you close or reload it.',
  button: 'Show matrix',
  busy: 'Asking…',
  missing: 'Enter the caller token.',
  failed: 'The sidecar gave no answer. Try again.',
}

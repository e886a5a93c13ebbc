/**
 * The tables of the directory, in SQL that SQLite and PostgreSQL share. Where they differ, a placeholder in
 * braces is replaced by each database's own word. Booleans are 0 and 1; times are milliseconds since the
 * epoch.
 */

export type Dialect = 'sqlite' | 'postgres'

/** The schema version that this code reads and writes. */
export const SCHEMA_VERSION = 13

/** In place of the hash of a service user who has no password. No password has it. */
export const NO_PASSWORD = ''

/** The step at index N migrates the directory from version N to version N + 1. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE accounts (
    id {text} PRIMARY KEY,
    account {text} NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    created_at_ms {integer} NOT NULL,
    deleted_at_ms {integer}
  ) {strict};
  -- A deleted record keeps its row, so that a token of it is found to be revoked and not unknown. Its name is free again.
  CREATE UNIQUE INDEX accounts_live ON accounts (account) WHERE deleted_at_ms IS NULL;

  CREATE TABLE projects (
    id {text} PRIMARY KEY,
    account_id {text} NOT NULL REFERENCES accounts,
    name {text} NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    created_at_ms {integer} NOT NULL,
    deleted_at_ms {integer}
  ) {strict};
  CREATE UNIQUE INDEX projects_live ON projects (account_id, name) WHERE deleted_at_ms IS NULL;

  CREATE TABLE users (
    id {text} PRIMARY KEY,
    account_id {text} NOT NULL REFERENCES accounts,
    name {text} NOT NULL,
    type {text} NOT NULL CHECK (type IN ('service_user', 'control_panel_user')),
    password_hash {text} CHECK ((type = 'service_user') = (password_hash IS NOT NULL)),
    generation INTEGER NOT NULL DEFAULT 1,
    enabled INTEGER NOT NULL DEFAULT 1,
    owner INTEGER NOT NULL DEFAULT 0,
    created_at_ms {integer} NOT NULL,
    deleted_at_ms {integer}
  ) {strict};
  CREATE UNIQUE INDEX users_live ON users (account_id, name) WHERE deleted_at_ms IS NULL;

  CREATE TABLE user_roles (
    user_id {text} NOT NULL REFERENCES users,
    role {text} NOT NULL,
    PRIMARY KEY (user_id, role)
  ) {strict};

  -- Permissions whose scope is Account. Permissions whose scope is Projects have one row for each selected project (§5.1).
  CREATE TABLE account_permissions (
    user_id {text} PRIMARY KEY REFERENCES users
  ) {strict};
  CREATE TABLE project_permissions (
    user_id {text} NOT NULL REFERENCES users,
    project_id {text} NOT NULL REFERENCES projects,
    PRIMARY KEY (user_id, project_id)
  ) {strict};

  CREATE TABLE static_tokens (
    hash {bytes} PRIMARY KEY,
    id {text} NOT NULL UNIQUE,
    user_id {text} NOT NULL REFERENCES users,
    kind {text} NOT NULL,
    name {text} NOT NULL,
    created_at_ms {integer} NOT NULL,
    revoked_at_ms {integer}
  ) {strict};
  CREATE UNIQUE INDEX static_tokens_live ON static_tokens (user_id, name) WHERE revoked_at_ms IS NULL;

  -- The IAM tokens that control panel users can copy (§5.1): their claims, never the tokens. A user has one for each project
  -- and one for the account (project_id '').
  CREATE TABLE panel_tokens (
    user_id {text} NOT NULL REFERENCES users,
    project_id {text} NOT NULL,
    claims {text} NOT NULL,
    PRIMARY KEY (user_id, project_id)
  ) {strict};

  -- A record is kept until the token has expired anyway. Records without a forget_at_ms are kept forever.
  CREATE TABLE revocations (
    token_id {text} PRIMARY KEY,
    revoked_at_ms {integer} NOT NULL,
    forget_at_ms {integer}
  ) {strict};
  CREATE INDEX revocations_forget ON revocations (forget_at_ms);

  CREATE TABLE address_rules (
    account_id {text} NOT NULL REFERENCES accounts,
    cidr {text} NOT NULL,
    PRIMARY KEY (account_id, cidr)
  ) {strict};

  CREATE TABLE audit (
    sequence {sequence},
    at_ms {integer} NOT NULL,
    actor {text} NOT NULL,
    action {text} NOT NULL,
    account {text} NOT NULL,
    subject {text} NOT NULL,
    details {text} NOT NULL
  ) {strict};
  CREATE INDEX audit_account ON audit (account, sequence);
  {append_only_audit}
  `,
  `
  -- Fingerprint of the pepper that was used for the hash. NULL for tokens of earlier versions.
  ALTER TABLE static_tokens ADD COLUMN pepper {text};
  `,
  `
  -- Revocations are kept forever: no reading of a clock and no lifetime can tell that a token cannot come back.
  DROP INDEX revocations_forget;
  ALTER TABLE revocations DROP COLUMN forget_at_ms;
  -- The audit trail still has the revocations that earlier versions deleted.
  INSERT INTO revocations (token_id, revoked_at_ms)
    SELECT subject, MIN(at_ms) FROM audit WHERE action = 'token.revoke' GROUP BY subject
    ON CONFLICT DO NOTHING;

  -- Each since is the number of a change (audit.sequence). IAM tokens that were issued before it are revoked for good, also
  -- when the account or project is enabled again, or the permission granted again.
  ALTER TABLE accounts ADD COLUMN since {integer} NOT NULL DEFAULT 0;
  ALTER TABLE projects ADD COLUMN since {integer} NOT NULL DEFAULT 0;
  UPDATE accounts SET since = (SELECT COALESCE(MAX(sequence), 0) FROM audit) WHERE enabled = 0;
  UPDATE projects SET since = (SELECT COALESCE(MAX(sequence), 0) FROM audit) WHERE enabled = 0;
  ALTER TABLE account_permissions ADD COLUMN since {integer} NOT NULL DEFAULT 0;
  -- selected_since: since when the permission selects the project; NULL: it no longer does, but the user has had access to the
  -- project without a break, and keeps it by a permission for the account. access_since: since when by either permission.
  ALTER TABLE project_permissions ADD COLUMN selected_since {integer} DEFAULT 0;
  ALTER TABLE project_permissions ADD COLUMN access_since {integer} NOT NULL DEFAULT 0;
  `,
  '{copies}',
  `
  -- Whether a service user may validate the tokens of every account.
  ALTER TABLE users ADD COLUMN validator INTEGER NOT NULL DEFAULT 0;
  {copy_with_validator}
  `,
  `
  -- Restorations of backups. IAM tokens that were issued between the last change of the backup (after_change) and the restoration
  -- (change) are revoked for good: what happened to them meanwhile is lost. All columns are in the key, so there is a copy of them.
  CREATE TABLE restorations (
    after_change {integer} NOT NULL,
    change {integer} NOT NULL,
    PRIMARY KEY (after_change, change)
  ) {strict};
  `,
  `
  -- What control panel users log in with. A service user has its password in users. Each is gone with the next invitation.
  CREATE TABLE panel_passwords (
    user_id {text} PRIMARY KEY REFERENCES users,
    hash {text} NOT NULL,
    changed_at_ms {integer} NOT NULL
  ) {strict};
  -- Secrets of one-time codes (RFC 6238), encrypted. sealed_with: fingerprint of the pepper whose key was used. last_step: the step
  -- of the code that was accepted last; it and those before it are used up.
  CREATE TABLE panel_codes (
    user_id {text} PRIMARY KEY REFERENCES users,
    secret {bytes} NOT NULL,
    sealed_with {text} NOT NULL,
    last_step {integer} NOT NULL,
    created_at_ms {integer} NOT NULL
  ) {strict};
  -- Passkeys (WebAuthn). id: the id of the credential, in base64url. last_used_day: since the epoch; NULL: never.
  CREATE TABLE passkeys (
    id {text} PRIMARY KEY,
    user_id {text} NOT NULL REFERENCES users,
    name {text} NOT NULL,
    public_key {bytes} NOT NULL,
    counter {integer} NOT NULL,
    transports {text} NOT NULL,
    created_at_ms {integer} NOT NULL,
    last_used_day {integer}
  ) {strict};
  CREATE INDEX passkeys_user ON passkeys (user_id, created_at_ms);

  -- The three tables from here on are in no backup: what was ended after it would be valid again.
  -- Links that a user is sent, by SHA-256 of their secret. Each works once. generation: of the user when it was made.
  CREATE TABLE panel_links (
    hash {bytes} PRIMARY KEY,
    purpose {text} NOT NULL CHECK (purpose IN ('invitation', 'login')),
    user_id {text} NOT NULL REFERENCES users,
    generation INTEGER NOT NULL,
    created_at_ms {integer} NOT NULL,
    ends_at_ms {integer} NOT NULL
  ) {strict};
  CREATE INDEX panel_links_user ON panel_links (user_id, purpose);
  -- Sessions of the control panel, by SHA-256 of what the cookie has. Either a user's, with the generation that the user had, or
  -- a caller's, with SHA-256 of the caller token (caller_digest, in hexadecimal).
  CREATE TABLE panel_sessions (
    hash {bytes} PRIMARY KEY,
    id {text} NOT NULL UNIQUE,
    user_id {text} REFERENCES users,
    generation INTEGER NOT NULL,
    caller_digest {text} CHECK ((user_id IS NULL) = (caller_digest IS NOT NULL)),
    created_at_ms {integer} NOT NULL,
    used_at_ms {integer} NOT NULL,
    confirmed_at_ms {integer} NOT NULL,
    ends_at_ms {integer} NOT NULL,
    address {text} NOT NULL,
    client {text} NOT NULL
  ) {strict};
  CREATE INDEX panel_sessions_user ON panel_sessions (user_id, created_at_ms);
  CREATE INDEX panel_sessions_end ON panel_sessions (ends_at_ms);
  -- Challenges of passkeys that were answered, by SHA-256, until they end: each is answered once.
  CREATE TABLE panel_challenges (
    hash {bytes} PRIMARY KEY,
    ends_at_ms {integer} NOT NULL
  ) {strict};
  CREATE INDEX panel_challenges_end ON panel_challenges (ends_at_ms);
  {panel_copies}

  -- Days since the epoch; NULL: never, or before this was recorded.
  ALTER TABLE static_tokens ADD COLUMN last_used_day {integer};
  `,
  `
  -- What the change touched, for the processes that follow changes (feed/touches.ts). NULL: an earlier version made the change, so
  -- it may have touched everything.
  ALTER TABLE audit ADD COLUMN touches {text};
  `,
  `
  -- Application credentials of service users. generation and change_number: of the user and of the directory when one was made, as
  -- IAM tokens have them. roles: joined by line feeds. limited: whether the user had more of them.
  CREATE TABLE application_credentials (
    id {text} PRIMARY KEY,
    user_id {text} NOT NULL REFERENCES users,
    project_id {text} NOT NULL REFERENCES projects,
    name {text} NOT NULL,
    description {text} NOT NULL,
    secret_hash {text} NOT NULL,
    generation INTEGER NOT NULL,
    change_number {integer} NOT NULL,
    roles {text} NOT NULL,
    limited INTEGER NOT NULL,
    unrestricted INTEGER NOT NULL,
    created_at_ms {integer} NOT NULL,
    expires_at_us {integer}
  ) {strict};
  CREATE UNIQUE INDEX application_credentials_name ON application_credentials (user_id, name);
  {credential_copy}
  `,
  `
  -- The end of the token's text, and what its holder wrote about it. NULL: an earlier version made the token.
  ALTER TABLE static_tokens ADD COLUMN last_four {text};
  ALTER TABLE static_tokens ADD COLUMN note {text};
  -- Id of what was changed, where the subject is its name. NULL: it has none, or an earlier version made the change.
  ALTER TABLE audit ADD COLUMN subject_id {text};
  `,
  `
  -- Which matrices were put in force, one after the other; the last one is. content: JSON, compressed by gzip.
  -- NULL, with an empty digest: each process has that of its own configuration.
  CREATE TABLE matrix_versions (
    position {integer} PRIMARY KEY,
    digest {text} NOT NULL,
    content {bytes},
    action {text} NOT NULL,
    actor {text} NOT NULL,
    reason {text} NOT NULL,
    at_ms {integer} NOT NULL,
    CHECK ((content IS NULL) = (digest = ''))
  ) {strict};
  `,
  `
  -- No statement reads more the more a directory has (test/support/directory/statements.ts).
  CREATE INDEX static_tokens_user ON static_tokens (user_id, id);
  CREATE INDEX static_tokens_pepper ON static_tokens (pepper) WHERE revoked_at_ms IS NULL;
  CREATE INDEX users_type ON users (account_id, type, name) WHERE deleted_at_ms IS NULL;
  CREATE INDEX audit_creations ON audit (account, sequence) WHERE action = 'account.create';
  CREATE INDEX audit_archives ON audit (sequence) WHERE action = 'audit.archive';
  -- Id of the token, which is in its claims as well.
  ALTER TABLE panel_tokens ADD COLUMN token_id {text};
  UPDATE panel_tokens SET token_id = {token_id_of_claims};
  CREATE INDEX panel_tokens_token ON panel_tokens (token_id);
  -- The account of the user; NULL: the session is a caller's.
  ALTER TABLE panel_links ADD COLUMN account_id {text} REFERENCES accounts;
  ALTER TABLE panel_sessions ADD COLUMN account_id {text} REFERENCES accounts;
  UPDATE panel_links SET account_id = (SELECT account_id FROM users WHERE users.id = user_id);
  UPDATE panel_sessions SET account_id = (SELECT account_id FROM users WHERE users.id = user_id);
  CREATE INDEX panel_links_account ON panel_links (account_id, purpose);
  CREATE INDEX panel_links_end ON panel_links (ends_at_ms);
  CREATE INDEX panel_links_made ON panel_links (created_at_ms);
  CREATE INDEX panel_sessions_account ON panel_sessions (account_id, used_at_ms);
  CREATE INDEX panel_sessions_used ON panel_sessions (used_at_ms);
  `,
  `
  -- What ends many records at once is one mark, and rows that decide nothing any more are removed later (removal.ts).
  -- invitations_since: number of a change; invitations from before it have ended. emptied: whether every project and user of a
  -- deleted account is marked as deleted.
  ALTER TABLE accounts ADD COLUMN invitations_since {integer} NOT NULL DEFAULT 0;
  ALTER TABLE accounts ADD COLUMN emptied INTEGER NOT NULL DEFAULT 0;
  UPDATE accounts SET emptied = 1 WHERE deleted_at_ms IS NOT NULL;
  CREATE INDEX accounts_to_empty ON accounts (deleted_at_ms) WHERE deleted_at_ms IS NOT NULL AND emptied = 0;
  -- Number of the last change when it was made.
  ALTER TABLE panel_links ADD COLUMN change_number {integer} NOT NULL DEFAULT 0;
  ALTER TABLE panel_sessions ADD COLUMN change_number {integer} NOT NULL DEFAULT 0;
  UPDATE panel_links SET change_number = (SELECT COALESCE(MAX(sequence), 0) FROM audit);
  UPDATE panel_sessions SET change_number = (SELECT COALESCE(MAX(sequence), 0) FROM audit);
  DROP INDEX panel_links_account;
  -- Number of the last change when an IAM token was revoked; NULL: the revocation is kept forever.
  ALTER TABLE revocations ADD COLUMN change_number {integer};
  CREATE INDEX revocations_change ON revocations (change_number);
  -- Numbers of the last change at some times. floor: revocations from before that change were removed, so every IAM token that was
  -- issued before it is revoked.
  CREATE TABLE revocation_marks (
    change_number {integer} PRIMARY KEY,
    at_ms {integer} NOT NULL,
    floor INTEGER NOT NULL DEFAULT 0
  ) {strict};
  CREATE INDEX users_deleted ON users (deleted_at_ms, id) WHERE deleted_at_ms IS NOT NULL;
  CREATE INDEX projects_deleted ON projects (deleted_at_ms, id) WHERE deleted_at_ms IS NOT NULL;
  CREATE INDEX static_tokens_revoked ON static_tokens (revoked_at_ms) WHERE revoked_at_ms IS NOT NULL;
  CREATE INDEX project_permissions_project ON project_permissions (project_id);
  CREATE INDEX application_credentials_project ON application_credentials (project_id);
  {mark_copies}
  `,
]

/** Number of the last change, as `last`; 0: there was none. */
export const LAST_CHANGE = 'SELECT COALESCE(MAX(sequence), 0) AS last FROM audit'

/** The version that a table came with, where it was not the first. */
const SINCE: Readonly<Record<string, number>> = {
  restorations: 6,
  ...{ panel_passwords: 7, panel_codes: 7, passkeys: 7, application_credentials: 9, matrix_versions: 11 },
  revocation_marks: 13,
}

/**
 * Every table whose records are kept in backups, each after those that it refers to; with the version that it
 * came with.
 */
export const TABLES: readonly { readonly name: string; readonly since: number }[] = [
  ...['accounts', 'projects', 'users', 'user_roles', 'account_permissions', 'project_permissions'],
  ...['static_tokens', 'panel_tokens', 'revocations', 'address_rules', 'audit', 'restorations'],
  ...['panel_passwords', 'panel_codes', 'passkeys', 'application_credentials', 'matrix_versions'],
  'revocation_marks',
].map((name) => ({ name, since: SINCE[name] ?? 1 }))

/** The other tables. A restored directory has no record of them. */
export const PASSING_TABLES = ['panel_links', 'panel_sessions', 'panel_challenges']

const WORDS: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  sqlite: {
    text: 'TEXT',
    integer: 'INTEGER',
    bytes: 'BLOB',
    strict: 'STRICT',
    sequence: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    token_id_of_claims: "claims ->> 'jti'",
    append_only_audit: `
      CREATE TRIGGER audit_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
      CREATE TRIGGER audit_not_deleted BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;`,
    // A second copy of every value that decides about a token, elsewhere in the file. PRAGMA integrity_check
    // compares the two, so it finds a flipped bit in either. The other tables have all their columns in their
    // primary key, which is such a copy.
    copies: `
      CREATE INDEX accounts_copy ON accounts (id, account, enabled, deleted_at_ms, since);
      CREATE INDEX projects_copy ON projects (id, account_id, name, enabled, deleted_at_ms, since);
      CREATE INDEX users_copy ON users (id, account_id, name, type, password_hash, generation, enabled, owner, deleted_at_ms);
      CREATE INDEX account_permissions_copy ON account_permissions (user_id, since);
      CREATE INDEX project_permissions_copy ON project_permissions (user_id, project_id, selected_since, access_since);
      CREATE INDEX static_tokens_copy ON static_tokens (hash, id, user_id, kind, revoked_at_ms);
      CREATE INDEX panel_tokens_copy ON panel_tokens (user_id, project_id, claims);`,
    copy_with_validator: `
      DROP INDEX users_copy;
      CREATE INDEX users_copy ON users
        (id, account_id, name, type, password_hash, generation, enabled, owner, deleted_at_ms, validator);`,
    panel_copies: `
      CREATE INDEX panel_passwords_copy ON panel_passwords (user_id, hash);
      CREATE INDEX panel_codes_copy ON panel_codes (user_id, secret, sealed_with, last_step);
      CREATE INDEX passkeys_copy ON passkeys (id, user_id, public_key, counter);
      CREATE INDEX panel_links_copy ON panel_links (hash, purpose, user_id, generation, ends_at_ms);
      CREATE INDEX panel_sessions_copy ON panel_sessions
        (hash, id, user_id, generation, caller_digest, used_at_ms, confirmed_at_ms, ends_at_ms);
      CREATE INDEX panel_challenges_copy ON panel_challenges (hash, ends_at_ms);`,
    credential_copy: `
      CREATE INDEX application_credentials_copy ON application_credentials
        (id, user_id, project_id, secret_hash, generation, change_number, roles, limited, unrestricted, expires_at_us);`,
    mark_copies: `
      DROP INDEX accounts_copy;
      CREATE INDEX accounts_copy ON accounts (id, account, enabled, deleted_at_ms, since, invitations_since);
      DROP INDEX panel_links_copy;
      CREATE INDEX panel_links_copy ON panel_links
        (hash, purpose, user_id, generation, ends_at_ms, account_id, change_number);
      DROP INDEX panel_sessions_copy;
      CREATE INDEX panel_sessions_copy ON panel_sessions
        (hash, id, user_id, generation, caller_digest, used_at_ms, confirmed_at_ms, ends_at_ms, account_id, change_number);
      CREATE INDEX revocation_marks_copy ON revocation_marks (change_number, floor);`,
  },
  postgres: {
    // Byte order, as in SQLite, so that lists have the same order on both.
    text: 'TEXT COLLATE "C"',
    integer: 'BIGINT',
    bytes: 'BYTEA',
    strict: '',
    sequence: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    token_id_of_claims: "CAST(claims AS JSON) ->> 'jti'",
    // PostgreSQL has its own checksums (initdb --data-checksums).
    copies: '',
    copy_with_validator: '',
    panel_copies: '',
    credential_copy: '',
    mark_copies: '',
    append_only_audit: `
      CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
      CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
        FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();`,
  },
}

/**
 * Statements that lift and restore the protection of the audit trail, within a transaction that deletes
 * archived records.
 */
export const AUDIT_PROTECTION: Readonly<
  Record<Dialect, { readonly lift: string; readonly restore: string }>
> = {
  sqlite: {
    lift: 'DROP TRIGGER audit_not_deleted',
    restore: `CREATE TRIGGER audit_not_deleted BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END`,
  },
  postgres: {
    lift: 'ALTER TABLE audit DISABLE TRIGGER audit_append_only',
    restore: 'ALTER TABLE audit ENABLE TRIGGER audit_append_only',
  },
}

/**
 * The migration steps from a version to another, by default to the current one.
 *
 * @throws Error if a newer Portcullis wrote the directory
 */
export function migrationsFrom(
  version: number,
  dialect: Dialect,
  place: string,
  to = SCHEMA_VERSION,
): string[] {
  expectKnownVersion(version, place)
  return MIGRATIONS.slice(version, to).map((step) =>
    step.replace(/\{(\w+)\}/g, (_placeholder, word: string) => WORDS[dialect][word] ?? ''),
  )
}

/** @throws Error if a newer Portcullis wrote the directory, or none did */
export function expectKnownVersion(version: number, place: string): void {
  if (version < 0) throw new Error(`${place}: expected a directory, found one of version ${version}`)
  if (version > SCHEMA_VERSION)
    throw new Error(
      `${place}: expected a directory of version ${SCHEMA_VERSION} or earlier, found ${version}; a newer Portcullis wrote it`,
    )
}

/**
 * OpenTofu with the OpenStack provider of Terraform: a service user makes an application credential
 * for a job, and the job logs in with it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { installed, run } from '../../support/interop/command.ts'
import { ENVIRONMENT } from '../../support/interop/go.ts'
import { runToEnd, startIdentitySidecar } from '../../support/interop/interop-identity.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFile, newFolder } from '../../support/suite/resources.ts'

const PROVIDER = 'github.com/terraform-provider-openstack/terraform-provider-openstack/v3@v3.4.0'
const TOFU = 'github.com/opentofu/opentofu@v1.12.6'

/** Compiles both. @returns the folder of the programs */
async function installTerraform(): Promise<string> {
  const version = await run('go', ['version'])
  return installed('terraform', [version, PROVIDER, TOFU], async (folder) => {
    await run('go', ['install', PROVIDER], { env: { ...ENVIRONMENT, GOBIN: folder } })
    // Its go.mod replaces a module, which `go install` does not allow.
    const { Dir } = JSON.parse(await run('go', ['mod', 'download', '-json', TOFU])) as { Dir: string }
    await run('go', ['build', '-o', join(folder, 'tofu'), './cmd/tofu'], { cwd: Dir, env: ENVIRONMENT })
  })
}

const programs = await obtained("OpenTofu and Terraform's provider", installTerraform)

const REQUIRED = `
terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

variable "auth_url" {}
`

/** Of who has the password. */
const MAKING = `${REQUIRED}
variable "account" {}
variable "user" {}
variable "password" { sensitive = true }
variable "project" {}

provider "openstack" {
  auth_url            = var.auth_url
  user_name           = var.user
  password            = var.password
  user_domain_name    = var.account
  project_domain_name = var.account
  tenant_name         = var.project
}

resource "openstack_identity_application_credential_v3" "nightly" {
  name        = "nightly"
  description = "the nightly report"
  expires_at  = timeadd(plantimestamp(), "24h")
  lifecycle { ignore_changes = [expires_at] }
}

output "id" { value = openstack_identity_application_credential_v3.nightly.id }
output "secret" {
  value     = openstack_identity_application_credential_v3.nightly.secret
  sensitive = true
}
`

/** Of the job. */
const USING = `${REQUIRED}
variable "id" {}
variable "secret" { sensitive = true }

provider "openstack" {
  auth_url                      = var.auth_url
  application_credential_id     = var.id
  application_credential_secret = var.secret
}

data "openstack_identity_auth_scope_v3" "job" { name = "job" }

output "project" { value = data.openstack_identity_auth_scope_v3.job.project_name }
output "user" { value = data.openstack_identity_auth_scope_v3.job.user_name }
`

describe.skipIf(!programs.ok)("Terraform's provider", () => {
  const bin = programs.ok ? programs.value : ''
  const source = 'registry.opentofu.org/terraform-provider-openstack/openstack'
  const overrides = newFile(
    `provider_installation {\n  dev_overrides {\n    "${source}" = ${JSON.stringify(bin)}\n  }\n}\n`,
    'tofu.tfrc',
  )

  /** A folder with a configuration, and `tofu` in it with these variables. */
  function configured(configuration: string, variables: Readonly<Record<string, string>>) {
    const folder = newFolder()
    writeFileSync(join(folder, 'main.tf'), configuration)
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [`TF_VAR_${name}`, value]),
    )
    return async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runToEnd([join(bin, 'tofu'), `-chdir=${folder}`, ...args], {
        env: { TF_CLI_CONFIG_FILE: overrides, TF_IN_AUTOMATION: '1', ...env },
      })
      if (code !== 0) throw new Error(`tofu ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`)
      return stdout
    }
  }

  const outputsOf = async (tofu: ReturnType<typeof configured>): Promise<Record<string, string>> => {
    const outputs = JSON.parse(await tofu('output', '-json')) as Record<string, { readonly value: string }>
    return Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value]))
  }

  test('makes an application credential, logs in with it, and deletes it', async () => {
    const sidecar = await startIdentitySidecar('http', { compatibility: { application_credentials: true } })
    const { user: login, project, identityUrl } = sidecar
    const { account, user, password } = login
    const auth_url = `${identityUrl}/v3`
    const making = configured(MAKING, { auth_url, account, user, password, project })
    await making('apply', '-auto-approve', '-no-color')
    // The resources are as declared.
    expect(await making('plan', '-no-color')).toContain('No changes')
    const { id = '', secret = '' } = await outputsOf(making)
    const using = configured(USING, { auth_url, id, secret })
    await using('apply', '-auto-approve', '-no-color')
    expect(await outputsOf(using)).toEqual({ project, user })
    expect(await making('destroy', '-auto-approve', '-no-color')).toContain('1 destroyed')
    await expect(using('plan', '-no-color')).rejects.toThrow('401')
    await sidecar.stop()
  })
})

// For tests: the bridge as a process of the command line, with its file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CliHarness, openCliHarness, type RunningCli } from '../../cli/testing/cli.ts'

export interface BridgeFile {
  readonly deviceId: string
  /** Undefined for a certificate. */
  readonly token: string | undefined
  readonly mqttUrl: string
  readonly rosUrl: string
  /** What comes after the addresses, in YAML. */
  readonly rest: string
}

export class BridgeProcesses {
  readonly folder = mkdtempSync(join(tmpdir(), 'fleet-bridge-'))
  readonly #cli: CliHarness = openCliHarness()

  begin(file: BridgeFile): RunningCli {
    const path = join(this.folder, `${file.deviceId}.yaml`)
    writeFileSync(path, this.textOf(file))
    return this.#cli.begin(['bridge', 'ros', '--config', path], {
      env: { XDG_STATE_HOME: this.folder, BRIDGE_TOKEN: file.token ?? '' },
    })
  }

  run(args: readonly string[]): ReturnType<CliHarness['run']> {
    return this.#cli.run(['bridge', 'ros', ...args])
  }

  textOf({ deviceId, token, mqttUrl, rosUrl, rest }: BridgeFile): string {
    const { hostname, port } = new URL(mqttUrl)
    const secret = token === undefined ? '' : `, token: '\${BRIDGE_TOKEN}'`
    const mqtt = `{ host: ${hostname}, port: ${port}${secret} }`
    return `device_id: ${deviceId}\nmqtt: ${mqtt}\nros: { url: '${rosUrl}' }\n${rest}`
  }

  async close(): Promise<void> {
    await this.#cli.close()
    rmSync(this.folder, { recursive: true })
  }
}

// Saves memory: the records of a fleet mostly contain the same words, so each word is kept once. A record decoded from a
// message or a clone also has its own copy of every string and its own hidden class; here all get the same class.
import { NO_COMMANDS } from '../../domain/command/record.ts'
import type { Device } from '../../domain/device/record.ts'
import { NEW_SHADOW } from '../../domain/shadow/record.ts'

const WORDS_MAX = 65_536
const NONE: readonly never[] = []
const EMPTY = {}

export class Compactor {
  readonly #words = new Map<string, string>()
  readonly #lists = new Map<string, readonly string[]>()

  /** Returns an equal record that takes as little memory as possible. */
  compact(device: Device): Device {
    const { tags, issues, metadata } = device
    return {
      id: device.id,
      name: device.name,
      type: this.#word(device.type),
      description: device.description,
      group: device.group === undefined ? undefined : this.#word(device.group),
      tags: tags.length === 0 ? NONE : this.#list(tags),
      metadata: Object.keys(metadata).length === 0 ? EMPTY : metadata,
      parentId: device.parentId,
      heartbeatTimeoutSec: device.heartbeatTimeoutSec,
      // It is the same word, so it has the same type.
      status: this.#word(device.status) as Device['status'],
      statusReason: device.statusReason === undefined ? undefined : this.#word(device.statusReason),
      // Equal times share one number in memory.
      statusSince: device.statusSince === device.createdAt ? device.createdAt : device.statusSince,
      tokensValidFrom:
        device.tokensValidFrom === device.createdAt ? device.createdAt : device.tokensValidFrom,
      firmwareVersion: device.firmwareVersion === undefined ? undefined : this.#word(device.firmwareVersion),
      issues: issues.length === 0 ? NONE : issues,
      faultNames: device.faultNames,
      shadow: device.shadow.version === 0 ? NEW_SHADOW : device.shadow,
      commands: device.commands.length === 0 ? NO_COMMANDS : device.commands,
      firmware: device.firmware,
      alerts: device.alerts,
      seenAt: device.seenAt,
      createdAt: device.createdAt,
      createdBy: this.#word(device.createdBy),
      updatedAt: device.updatedAt === device.createdAt ? device.createdAt : device.updatedAt,
      revision: device.revision,
      registrationPlace: device.registrationPlace,
      registrationKey: device.registrationKey,
      replayed: device.replayed,
    }
  }

  #list(words: readonly string[]): readonly string[] {
    const key = words.join('\u0000')
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const list = words.map((word) => this.#word(word))
    if (this.#lists.size < WORDS_MAX) this.#lists.set(key, list)
    return list
  }

  #word(text: string): string {
    const known = this.#words.get(text)
    if (known !== undefined) return known
    if (this.#words.size < WORDS_MAX) this.#words.set(text, text)
    return text
  }
}

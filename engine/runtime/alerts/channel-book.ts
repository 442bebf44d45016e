// The channels. The leader keeps them as documents.

import { type ChannelId, Millis } from '../../../schemas/ids.ts'
import { refused } from '../../../schemas/refusals.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import {
  type Channel,
  type ChannelHealth,
  type ChannelSettings,
  HEALTHY,
  publicState,
} from '../../domain/alert/channel.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import type { HttpOut } from '../../ports/http-out.ts'
import { type Claim, NO_SAVE, type Store } from '../../ports/store.ts'
import { newWebhookSecret } from './webhook-signature.ts'

export interface ChannelBookPorts {
  readonly store: Pick<Store, 'documents' | 'save'>
  readonly claims: readonly Claim[]
  readonly clock: Clock
  readonly http: HttpOut
  readonly hasMail: boolean
  /** The ids of the rules that use this channel. */
  readonly rulesUsing: (id: ChannelId) => Promise<readonly string[]>
  /** Called when the channel's state has changed and that is saved. */
  readonly moved: (channel: Channel) => void
}

type Removal = { readonly kind: 'removed' } | EngineRefusal
type Outcome = { readonly kind: 'channel'; readonly channel: Channel } | EngineRefusal

/** The collection of the channels' documents. */
export const CHANNELS = 'alert-channels'
const packr = newPackr()

export class ChannelBook {
  readonly #ports: ChannelBookPorts
  readonly #channels = new Map<ChannelId, Channel>()
  readonly #changes = new SerialQueue()

  constructor(ports: ChannelBookPorts) {
    this.#ports = ports
  }

  async open(): Promise<void> {
    for (const { bytes } of await this.#ports.store.documents.list(CHANNELS)) {
      // Written by `#save`.
      const channel = packr.unpack(bytes) as Channel
      this.#channels.set(channel.id, channel)
    }
  }

  get(id: ChannelId): Channel | undefined {
    return this.#channels.get(id)
  }

  /** Newest first. */
  all(): readonly Channel[] {
    return [...this.#channels.values()].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
  }

  create(id: ChannelId, settings: ChannelSettings, by: string): Promise<Outcome> {
    return this.#changes.run(() => this.#create(id, settings, by))
  }

  async #create(id: ChannelId, settings: ChannelSettings, by: string): Promise<Outcome> {
    const known = this.#channels.get(id)
    if (known !== undefined) return { kind: 'channel', channel: known }
    if (this.#channels.size >= LIMITS.channelsMax)
      return refused('LIMIT_REACHED', { limit: LIMITS.channelsMax })
    const refusal = await this.#judge(id, settings)
    if (refusal !== undefined) return refusal
    const now = this.#ports.clock.now()
    const made = { createdAt: now, createdBy: by, updatedAt: now, revision: 1 }
    return this.#save({ ...settings, target: withSecret(settings.target), id, health: HEALTHY, ...made })
  }

  /** Replaces the settings and resets the health, because the edit may have fixed the problem. */
  replace(id: ChannelId, settings: ChannelSettings, revision: number): Promise<Outcome> {
    return this.#changes.run(() => this.#replace(id, settings, revision))
  }

  async #replace(id: ChannelId, settings: ChannelSettings, revision: number): Promise<Outcome> {
    const channel = this.#channels.get(id)
    if (channel === undefined) return refused('NOT_FOUND', { message: 'no such channel' })
    if (channel.revision !== revision)
      return refused('PRECONDITION_FAILED', { expected: channel.revision, got: revision })
    const refusal = await this.#judge(id, settings, channel.fallbackChannelId)
    if (refusal !== undefined) return refusal
    return this.#edit(channel, { ...settings, health: HEALTHY })
  }

  rotate(id: ChannelId): Promise<Outcome> {
    return this.#changes.run(() => this.#rotate(id))
  }

  async #rotate(id: ChannelId): Promise<Outcome> {
    const channel = this.#channels.get(id)
    if (channel === undefined) return refused('NOT_FOUND', { message: 'no such channel' })
    const { target } = channel
    if (target.kind !== 'webhook')
      return refused('INVALID_STATE_TRANSITION', {
        message: 'only a webhook has a secret to rotate',
        allowed: [],
      })
    const until = Millis(this.#ports.clock.now() + LIMITS.formerSecretMs)
    const secret = newWebhookSecret()
    return this.#edit(channel, { target: { ...target, secret, former: { secret: target.secret, until } } })
  }

  remove(id: ChannelId, isForced: boolean): Promise<Removal> {
    return this.#changes.run(() => this.#remove(id, isForced))
  }

  async #remove(id: ChannelId, isForced: boolean): Promise<Removal> {
    if (!this.#channels.has(id)) return refused('NOT_FOUND', { message: 'no such channel' })
    const rules = isForced ? [] : await this.#ports.rulesUsing(id)
    if (rules.length > 0) return refused('CHANNEL_IN_USE', { rules, policies: [] })
    await this.#write(id, undefined)
    this.#channels.delete(id)
    return { kind: 'removed' }
  }

  /** Resolves once the change is saved. Does not count as an edit. Changes run one after the other. */
  changeHealth(id: ChannelId, change: (health: ChannelHealth) => ChannelHealth): Promise<void> {
    return this.#changes.run(async () => {
      const channel = this.#channels.get(id)
      if (channel === undefined) return
      const health = change(channel.health)
      if (health !== channel.health) await this.#save({ ...channel, health })
    })
  }

  /** A fallback that the channel has had before may be deleted by now. Only another one must exist. */
  async #judge(
    id: ChannelId,
    { target, fallbackChannelId }: ChannelSettings,
    fallbackBefore?: ChannelId,
  ): Promise<EngineRefusal | undefined> {
    if (
      fallbackChannelId !== undefined &&
      fallbackChannelId !== fallbackBefore &&
      (fallbackChannelId === id || !this.#channels.has(fallbackChannelId))
    )
      return invalid('/fallback_channel_id', 'must be another channel')
    if (target.kind === 'email' && !this.#ports.hasMail) return refused('SMTP_NOT_CONFIGURED', {})
    const url =
      target.kind === 'webhook' ? target.url : target.kind === 'chat_webhook' ? target.webhookUrl : undefined
    if (url === undefined) return undefined
    const judged = await this.#ports.http.judge(url)
    if (judged.kind !== 'forbidden') return undefined
    const { host } = new URL(url)
    return refused('WEBHOOK_TARGET_FORBIDDEN', {
      message: `${host} is, or stands for, an address that is not public; FLEET_WEBHOOK_ALLOW=${host} would allow it`,
    })
  }

  #edit(channel: Channel, changes: Partial<Channel>): Promise<Outcome> {
    const { id, createdAt, createdBy, revision } = channel
    const updatedAt = this.#ports.clock.now()
    return this.#save({ ...channel, ...changes, id, createdAt, createdBy, updatedAt, revision: revision + 1 })
  }

  async #save(channel: Channel): Promise<Outcome> {
    await this.#write(channel.id, packr.pack(channel))
    const before = this.#channels.get(channel.id)
    this.#channels.set(channel.id, channel)
    if (before !== undefined && publicState(before) !== publicState(channel)) this.#ports.moved(channel)
    return { kind: 'channel', channel }
  }

  async #write(id: ChannelId, bytes: Uint8Array | undefined): Promise<void> {
    const { store, claims } = this.#ports
    await store.save({ ...NO_SAVE, claims, documents: [{ collection: CHANNELS, id, bytes }] })
  }
}

function withSecret(target: ChannelSettings['target']): ChannelSettings['target'] {
  return target.kind === 'webhook' && target.secret === ''
    ? { ...target, secret: newWebhookSecret() }
    : target
}

function invalid(path: string, message: string): EngineRefusal {
  const errors = [{ path, in: 'body', code: 'NOT_ALLOWED', message }]
  return refused('VALIDATION_FAILED', { message: `${path}: ${message}`, errors })
}

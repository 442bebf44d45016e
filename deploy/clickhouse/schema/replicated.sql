CREATE TABLE IF NOT EXISTS migrations ON CLUSTER '{cluster}' (version UInt32) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}') ORDER BY version;

CREATE TABLE IF NOT EXISTS points ON CLUSTER '{cluster}' (
    device_id LowCardinality(String),
    metric LowCardinality(String),
    ts DateTime64(6, 'UTC') CODEC(Delta(8), T64, ZSTD(1)),
    value Float64 CODEC(ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    received DateTime('UTC') CODEC(Delta(4), ZSTD(1))
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
  PARTITION BY toYYYYMM(received)
  ORDER BY (device_id, metric, ts)
  SETTINGS merge_selector_base = 20, merge_max_block_size = 65536, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS texts ON CLUSTER '{cluster}' (
    device_id LowCardinality(String),
    metric LowCardinality(String),
    ts DateTime64(6, 'UTC') CODEC(Delta(8), T64, ZSTD(1)),
    value String CODEC(ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    received DateTime('UTC') CODEC(Delta(4), ZSTD(1))
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
  PARTITION BY toYYYYMM(received)
  ORDER BY (device_id, metric, ts)
  SETTINGS merge_selector_base = 20, merge_max_block_size = 65536, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS rollup_1m ON CLUSTER '{cluster}' (
    device_id LowCardinality(String),
    metric LowCardinality(String),
    bucket DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    count UInt64 CODEC(T64, ZSTD(1)),
    sum Float64 CODEC(ZSTD(1)),
    min Float64 CODEC(ZSTD(1)),
    max Float64 CODEC(ZSTD(1)),
    last Float64 CODEC(ZSTD(1)),
    last_ts DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    computed UInt64 CODEC(Delta(8), ZSTD(1))
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', computed)
  PARTITION BY toYYYYMM(bucket)
  ORDER BY (device_id, metric, bucket);

CREATE TABLE IF NOT EXISTS rollup_1h ON CLUSTER '{cluster}' (
    device_id LowCardinality(String),
    metric LowCardinality(String),
    bucket DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    count UInt64 CODEC(T64, ZSTD(1)),
    sum Float64 CODEC(ZSTD(1)),
    min Float64 CODEC(ZSTD(1)),
    max Float64 CODEC(ZSTD(1)),
    last Float64 CODEC(ZSTD(1)),
    last_ts DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    computed UInt64 CODEC(Delta(8), ZSTD(1))
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', computed)
  PARTITION BY toYYYYMM(bucket)
  ORDER BY (device_id, metric, bucket);

CREATE TABLE IF NOT EXISTS settlements ON CLUSTER '{cluster}' (
    computed UInt64,
    horizon DateTime64(3, 'UTC'),
    finished UInt8
  ) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}') ORDER BY computed;

CREATE TABLE IF NOT EXISTS history ON CLUSTER '{cluster}' (
    device_id LowCardinality(String),
    kind LowCardinality(String),
    at DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    received DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    body String CODEC(ZSTD(1)),
    label LowCardinality(String) MATERIALIZED
      multiIf(kind = 'log', JSONExtractString(body, 'level'), kind = 'shadow', JSONExtractString(body, 'section'), '')
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
  PARTITION BY if(kind = 'log', toYYYYMMDD(toMonday(received)), toYYYYMM(received))
  ORDER BY (device_id, kind, at, version)
  TTL received + toIntervalDay(14) DELETE WHERE kind = 'log'
  SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS audit ON CLUSTER '{cluster}' (
    device_id String CODEC(ZSTD(1)),
    at DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    body String CODEC(ZSTD(1)),
    actor_id String MATERIALIZED JSONExtractString(body, 'actor', 'id') CODEC(ZSTD(1)),
    actor_name String MATERIALIZED JSONExtractString(body, 'actor', 'name') CODEC(ZSTD(1)),
    action LowCardinality(String) MATERIALIZED JSONExtractString(body, 'action'),
    target String MATERIALIZED JSONExtractString(body, 'target') CODEC(ZSTD(1)),
    outcome LowCardinality(String) MATERIALIZED JSONExtractString(body, 'outcome'),
    ip String MATERIALIZED JSONExtractString(body, 'ip') CODEC(ZSTD(1))
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
  PARTITION BY toYYYYMM(at)
  ORDER BY (at, version)
  SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;

ALTER TABLE points ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE texts ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE history ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE audit ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE rollup_1m ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE rollup_1h ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE settlements ON CLUSTER '{cluster}' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1;

ALTER TABLE history ON CLUSTER '{cluster}' ADD INDEX IF NOT EXISTS at_range at TYPE minmax GRANULARITY 1;

ALTER TABLE history ON CLUSTER '{cluster}' ADD COLUMN IF NOT EXISTS command_id String
    MATERIALIZED if(kind = 'command', JSONExtractString(body, 'command_id'), '') CODEC(ZSTD(1));

ALTER TABLE history ON CLUSTER '{cluster}' ADD COLUMN IF NOT EXISTS command_status LowCardinality(String)
    MATERIALIZED if(kind = 'command', JSONExtractString(body, 'status'), '');

CREATE TABLE IF NOT EXISTS fleet_counts ON CLUSTER '{cluster}' (
    at DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    group_path LowCardinality(String),
    status LowCardinality(String),
    devices UInt32 CODEC(T64, ZSTD(1))
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
  PARTITION BY toYYYYMM(at)
  ORDER BY (at, group_path, status)
  TTL at + toIntervalDay(90)
  SETTINGS ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS devices ON CLUSTER '{cluster}' (
    device_id String,
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    name String CODEC(ZSTD(1)),
    type LowCardinality(String),
    group_path LowCardinality(String),
    tags Array(LowCardinality(String)),
    gone UInt8
  ) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
  ORDER BY device_id;

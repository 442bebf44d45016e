// Declares the parts of ESP-IDF that the sample for ESP-IDF uses, so that a compiler can check the sample.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define BIT0 0x1
#define BIT1 0x2
#define BIT2 0x4
// esp_err.h, esp_log.h, esp_random.h
typedef int esp_err_t;
#define ESP_OK 0
#define ESP_ERROR_CHECK(x) do { if ((x) != ESP_OK) abort(); } while (0)
#define ESP_LOGE(tag, format, ...) printf("%s " format "\n", tag, ##__VA_ARGS__)
#define ESP_LOGW ESP_LOGE
#define ESP_LOGI ESP_LOGE
uint32_t esp_random(void);
// cJSON.h
typedef struct cJSON {
    struct cJSON *next, *prev, *child;
    int type;
    char *valuestring;
    int valueint;
    double valuedouble;
    char *string;
} cJSON;
typedef int cJSON_bool;
cJSON *cJSON_ParseWithLength(const char *value, size_t length);
cJSON *cJSON_CreateObject(void);
cJSON *cJSON_Duplicate(const cJSON *item, cJSON_bool recurse);
cJSON *cJSON_GetObjectItem(const cJSON *const object, const char *const string);
cJSON *cJSON_AddStringToObject(cJSON *const object, const char *const name, const char *const string);
cJSON *cJSON_AddNumberToObject(cJSON *const object, const char *const name, const double number);
cJSON *cJSON_AddObjectToObject(cJSON *const object, const char *const name);
cJSON_bool cJSON_IsString(const cJSON *const item);
cJSON_bool cJSON_IsNumber(const cJSON *const item);
cJSON_bool cJSON_IsObject(const cJSON *const item);
char *cJSON_PrintUnformatted(const cJSON *item);
cJSON_bool cJSON_PrintPreallocated(cJSON *item, char *buffer, const int length, const cJSON_bool format);
void cJSON_Delete(cJSON *item);
void cJSON_free(void *object);
// freertos
typedef uint32_t TickType_t;
typedef uint32_t EventBits_t;
typedef int BaseType_t;
typedef struct event_group *EventGroupHandle_t;
#define pdFALSE 0
#define pdTRUE 1
#define portMAX_DELAY 0xffffffffu
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))
EventGroupHandle_t xEventGroupCreate(void);
EventBits_t xEventGroupSetBits(EventGroupHandle_t group, const EventBits_t bits);
EventBits_t xEventGroupClearBits(EventGroupHandle_t group, const EventBits_t bits);
EventBits_t xEventGroupGetBits(EventGroupHandle_t group);
EventBits_t xEventGroupWaitBits(EventGroupHandle_t group, const EventBits_t bits, const BaseType_t clear,
                                const BaseType_t all, TickType_t ticks);
void vTaskDelay(const TickType_t ticks);
// nvs.h, nvs_flash.h
typedef uint32_t nvs_handle_t;
typedef enum { NVS_READONLY, NVS_READWRITE } nvs_open_mode_t;
esp_err_t nvs_flash_init(void);
esp_err_t nvs_open(const char *name, nvs_open_mode_t mode, nvs_handle_t *handle);
esp_err_t nvs_get_str(nvs_handle_t handle, const char *key, char *value, size_t *length);
esp_err_t nvs_get_blob(nvs_handle_t handle, const char *key, void *value, size_t *length);
esp_err_t nvs_set_blob(nvs_handle_t handle, const char *key, const void *value, size_t length);
esp_err_t nvs_commit(nvs_handle_t handle);
// esp_event.h, esp_netif.h, esp_netif_sntp.h, esp_wifi.h
typedef const char *esp_event_base_t;
typedef void (*esp_event_handler_t)(void *arg, esp_event_base_t base, int32_t id, void *data);
#define ESP_EVENT_ANY_ID (-1)
extern esp_event_base_t const WIFI_EVENT, IP_EVENT;
enum { WIFI_EVENT_STA_START = 2, WIFI_EVENT_STA_DISCONNECTED = 5, IP_EVENT_STA_GOT_IP = 0 };
esp_err_t esp_event_loop_create_default(void);
esp_err_t esp_event_handler_register(esp_event_base_t base, int32_t id, esp_event_handler_t handler, void *arg);
typedef struct esp_netif esp_netif_t;
esp_err_t esp_netif_init(void);
esp_netif_t *esp_netif_create_default_wifi_sta(void);
typedef struct { const char *server; } esp_sntp_config_t;
#define ESP_NETIF_SNTP_DEFAULT_CONFIG(name) {.server = name}
esp_err_t esp_netif_sntp_init(const esp_sntp_config_t *config);
esp_err_t esp_netif_sntp_sync_wait(TickType_t ticks);
typedef struct { int magic; } wifi_init_config_t;
#define WIFI_INIT_CONFIG_DEFAULT() {.magic = 1}
typedef union { struct { uint8_t ssid[32], password[64]; } sta; } wifi_config_t;
typedef enum { WIFI_MODE_STA = 1 } wifi_mode_t;
typedef enum { WIFI_IF_STA } wifi_interface_t;
esp_err_t esp_wifi_init(const wifi_init_config_t *config);
esp_err_t esp_wifi_set_mode(wifi_mode_t mode);
esp_err_t esp_wifi_set_config(wifi_interface_t interface, wifi_config_t *config);
esp_err_t esp_wifi_start(void);
esp_err_t esp_wifi_connect(void);
// esp_crt_bundle.h, mqtt_client.h
esp_err_t esp_crt_bundle_attach(void *conf);
typedef struct esp_mqtt_client *esp_mqtt_client_handle_t;
typedef enum { MQTT_PROTOCOL_UNDEFINED, MQTT_PROTOCOL_V_3_1, MQTT_PROTOCOL_V_3_1_1, MQTT_PROTOCOL_V_5 } esp_mqtt_protocol_ver_t;
enum { MQTT_EVENT_ERROR, MQTT_EVENT_CONNECTED, MQTT_EVENT_DISCONNECTED, MQTT_EVENT_DATA = 6 };
enum { MQTT_ERROR_TYPE_CONNECTION_REFUSED = 2 };
typedef struct { int error_type, connect_return_code; } esp_mqtt_error_codes_t;
typedef struct {
    char *data, *topic;
    int data_len, total_data_len, topic_len;
    esp_mqtt_error_codes_t *error_handle;
} esp_mqtt_event_t;
typedef struct {
    struct {
        struct { const char *uri; } address;
        struct { esp_err_t (*crt_bundle_attach)(void *conf); const char *certificate; } verification;
    } broker;
    struct { const char *username, *client_id; struct { const char *password; } authentication; } credentials;
    struct {
        struct { const char *topic, *msg; int msg_len, qos, retain; } last_will;
        bool disable_clean_session;
        int keepalive;
        esp_mqtt_protocol_ver_t protocol_ver;
    } session;
    struct { bool disable_auto_reconnect; } network;
    struct { int size; } buffer;
    struct { uint64_t limit; } outbox;
} esp_mqtt_client_config_t;
esp_mqtt_client_handle_t esp_mqtt_client_init(const esp_mqtt_client_config_t *config);
esp_err_t esp_mqtt_set_config(esp_mqtt_client_handle_t client, const esp_mqtt_client_config_t *config);
esp_err_t esp_mqtt_client_start(esp_mqtt_client_handle_t client);
esp_err_t esp_mqtt_client_reconnect(esp_mqtt_client_handle_t client);
esp_err_t esp_mqtt_client_register_event(esp_mqtt_client_handle_t client, int event, esp_event_handler_t handler, void *arg);
int esp_mqtt_client_subscribe_single(esp_mqtt_client_handle_t client, const char *topic, int qos);
int esp_mqtt_client_enqueue(esp_mqtt_client_handle_t client, const char *topic, const char *data, int len, int qos,
                            int retain, bool store);

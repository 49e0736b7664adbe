// The C boundary: opaque handles, codes and messages, no exceptions.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(GPT_BUILDING)
#define GPT_API __attribute__((visibility("default")))
#else
#define GPT_API
#endif

extern "C" {

typedef struct gpt_weights gpt_weights;
typedef struct gpt_decoder gpt_decoder;
typedef struct gpt_projections gpt_projections;

enum { GPT_OK = 0, GPT_INVALID = 1, GPT_NO_MEMORY = 2, GPT_FAILED = 3 };

typedef struct {
  int32_t layers, hidden, heads, intermediate, outputs;
  float norm_epsilon, rope_theta;
} gpt_shape;

typedef struct {
  const float* data;
  size_t count;
} gpt_array;

typedef struct {
  gpt_array input_norm, qkv, attention, output_norm, gate_up, down;
} gpt_layer;

// What the calling thread's last failed call had to say.
GPT_API const char* gpt_message(void);

// Whether weights of this precision (fp32 0, bf16 1, int8 2) can be multiplied with this
// instruction set (best 0, avx2 1, avx512 2). Returns the set that would be used, 0 for none.
GPT_API int32_t gpt_supports(int32_t precision, int32_t instruction_set);

// Memory for `layers` layers from `first` on, and for the output where `output` is not 0.
GPT_API int32_t gpt_weights_create(const gpt_shape* shape, int32_t precision,
                                   int32_t instruction_set, int32_t first, int32_t layers,
                                   int32_t output, gpt_weights** created);
GPT_API int32_t gpt_weights_layer(gpt_weights* weights, int32_t index, const gpt_layer* layer);
GPT_API int32_t gpt_weights_output(gpt_weights* weights, gpt_array norm, gpt_array heads);
// The weights of several parts, which stay where they are; what was packed into them counts.
GPT_API int32_t gpt_weights_join(const gpt_weights* const* parts, size_t count,
                                 gpt_weights** joined);
GPT_API size_t gpt_weights_bytes(const gpt_weights* weights);
// Decoders and joined weights that use them keep them until they are freed themselves.
GPT_API void gpt_weights_free(gpt_weights* weights);

GPT_API int32_t gpt_decoder_create(const gpt_weights* weights, int32_t cache_precision,
                                   int32_t slots, int32_t positions, int32_t threads,
                                   gpt_decoder** created);
// inputs (rows, hidden), hidden likewise, logits (heads, outputs); counts are those of the arrays.
GPT_API int32_t gpt_decoder_forward(gpt_decoder* decoder, gpt_array inputs, const int32_t* slots,
                                    const int32_t* positions, size_t rows, size_t heads,
                                    float* hidden, size_t hidden_count, float* logits,
                                    size_t logits_count);
GPT_API size_t gpt_decoder_cache_bytes(const gpt_decoder* decoder);
GPT_API void gpt_decoder_free(gpt_decoder* decoder);

// Matrices of one precision, for other parts of a model.
GPT_API int32_t gpt_projections_create(int32_t precision, int32_t instruction_set, int32_t threads,
                                       gpt_projections** created);
// weights (outputs, inputs), bias (outputs).
GPT_API int32_t gpt_projections_add(gpt_projections* projections, gpt_array weights,
                                    gpt_array bias, int32_t inputs, int32_t* index);
// outputs (rows, outputs) = bias + inputs (rows, inputs) times the matrix; count is that of
// `outputs`.
GPT_API int32_t gpt_projections_multiply(gpt_projections* projections, int32_t index,
                                         gpt_array inputs, float* outputs, size_t count);
// A ConvNeXt block of two matrices that were added: depthwise taps (width, channels) and bias
// (channels), the frames between taps, and what its norm adds to the variance.
GPT_API int32_t gpt_projections_add_block(gpt_projections* projections, gpt_array taps,
                                          gpt_array bias, int32_t dilation, float epsilon,
                                          int32_t wide, int32_t narrow, int32_t* index);
// frames (t + 2 * margin, channels) to outputs (up to t, channels), margin = dilation * (width / 2);
// count is that of `outputs`.
GPT_API int32_t gpt_projections_run_block(gpt_projections* projections, int32_t index,
                                          gpt_array frames, float* outputs, size_t count);
GPT_API size_t gpt_projections_bytes(const gpt_projections* projections);
GPT_API void gpt_projections_free(gpt_projections* projections);

}  // extern "C"

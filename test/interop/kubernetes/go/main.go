// Reads manifests of Kubernetes as a cluster would. Kustomizations are built, and every document is decoded
// strictly into the type of its kind. The code of the admission controller holds pods to the restricted Pod
// Security Standard.
//
//	manifests FOLDER    a kustomization
//	manifests -         a stream of YAML documents on standard input
//
// It prints a list of the objects as JSON, each with what is wrong with it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type manifest struct {
	Object   runtime.Object `json:"object"`
	Problems []string       `json:"problems"`
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from string) error {
	text, err := textOf(from)
	if err != nil {
		return err
	}
	manifests, err := decode(text)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(manifests)
}

func textOf(from string) ([]byte, error) {
	if from == "-" {
		return io.ReadAll(os.Stdin)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), from)
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

func decode(text []byte) ([]manifest, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	strict := kubejson.NewSerializerWithOptions(
		kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{Yaml: true, Strict: true})
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	manifests := []manifest{}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return manifests, nil
		}
		if err != nil {
			return nil, err
		}
		if isEmpty(document) {
			continue
		}
		object, _, err := strict.Decode(document, nil, nil)
		read := manifest{Object: object, Problems: []string{}}
		if err != nil {
			read.Problems = append(read.Problems, err.Error())
		}
		if template := templateOf(object); template != nil {
			level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
			results := evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
			if result := policy.AggregateCheckResults(results); !result.Allowed {
				read.Problems = append(read.Problems, result.ForbiddenDetail())
			}
		}
		manifests = append(manifests, read)
	}
}

// isEmpty says whether a document has nothing but comments, as templates without output leave behind.
func isEmpty(document []byte) bool {
	for _, line := range bytes.Split(document, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// templateOf returns the pods that a workload makes.
func templateOf(object runtime.Object) *corev1.PodTemplateSpec {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return &object.Spec.Template
	case *appsv1.StatefulSet:
		return &object.Spec.Template
	case *appsv1.DaemonSet:
		return &object.Spec.Template
	case *batchv1.Job:
		return &object.Spec.Template
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: object.ObjectMeta, Spec: object.Spec}
	}
	return nil
}
